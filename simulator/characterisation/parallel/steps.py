"""Steps that only the parallel kernels have: plain functions that Numba compiles."""

from simulator.calibration.kernels.merge_sort import Numbers


def keep_part(own: Numbers, theirs: Numbers, kept: Numbers, highest: bool) -> None:  # noqa: FBT001 - Numba's argument
    """Merge two sorted rows as far as `kept` goes: the lowest numbers from below, or the highest from above."""
    lower, other = 0, 0
    for place in range(kept.size):
        if highest:
            mine, yours = own.size - 1 - lower, theirs.size - 1 - other
            takes = yours < 0 or own[mine] > theirs[yours]
        else:
            mine, yours = lower, other
            takes = yours >= theirs.size or own[mine] <= theirs[yours]
        target = kept.size - 1 - place if highest else place
        if takes:
            kept[target] = own[mine]
            lower += 1
        else:
            kept[target] = theirs[yours]
            other += 1
