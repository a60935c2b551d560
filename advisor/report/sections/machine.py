"""The machine that a run was made on."""

from advisor import wording
from advisor.report.page import Pairs, Section, pairs
from advisor.wording import Document, clean, number


def section(document: Document) -> Section:
    """What is known of the machine and its messages."""
    return Section("machine", "Machine", (_facts(document.get("machine") or {}, document.get("link") or {}),))


def _facts(machine: Document, link: Document) -> Pairs:
    quota = number(machine.get("quota_cores"))
    caches = [
        f"L{cache.get('level')}{' ' + cache['kind'] if cache.get('kind') in {'data', 'instruction'} else ''} "
        f"{wording.size_text(cache.get('size_bytes'))}"
        + (f" (shared by {cache['shared_by']})" if (number(cache.get("shared_by")) or 1) > 1 else "")
        for cache in machine.get("caches") or ()
    ]
    cores = ", ".join(_core(core) for core in machine.get("cores") or ())
    load = ", ".join(f"{value:.2f}" for value in map(number, machine.get("load_average") or ()) if value is not None)
    memory = (
        f"{wording.size_text(machine.get('memory_bytes'))}, "
        f"{wording.size_text(machine.get('memory_available_bytes'))} available"
    )
    return pairs(
        {
            "System": clean(machine.get("system") or ""),
            "Processor": clean(machine.get("cpu_model") or ""),
            "PEs": f"{machine['pe_count']} (processor{'' if len(machine.get('cores') or ()) == 1 else 's'} {cores})"
            if machine.get("pe_count")
            else "",
            "CPU quota": "" if quota is None else f"{quota:g} cores",
            "Caches": ", ".join(caches),
            "Memory": memory if machine.get("memory_bytes") else "",
            "Load before the run": f"{load} (mean over 1, 5, 15 min)" if load else "",
            "Frequency governor": clean(machine.get("governor") or ""),
            "Messages": _messages(link),
        }
    )


def _core(core: Document) -> str:
    siblings = ", ".join(str(sibling) for sibling in core.get("siblings") or ())
    return f"{core.get('cpu')}" + (f" [SMT sibling {siblings}]" if siblings else "")


def _messages(link: Document) -> str:
    """What the smallest and the largest message take."""
    knots = list(zip(link.get("sizes_bytes") or (), link.get("times_s") or (), strict=False))
    ends = [knots[0], knots[-1]] if len(knots) > 1 else knots
    return ", ".join(f"{wording.duration(time)} for {wording.size_text(size)}" for size, time in ends)
