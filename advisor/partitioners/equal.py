"""The same number of units for every process: what a parallel program does that knows nothing of its PEs."""


def equal(units: int, processes: int) -> tuple[int, ...]:
    """Split units evenly; the first processes take one more where it does not come out even."""
    share, rest = divmod(units, processes)
    return tuple(share + (process < rest) for process in range(processes))
