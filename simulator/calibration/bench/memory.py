"""How much memory a child may take: a limit that the system enforces, and trying out an allocation without using it."""

import mmap
import resource


def limit(count_bytes: int) -> None:
    """Let this process and each of its future children take `count_bytes` of memory more than this one has now.

    A request beyond it fails at once (`RLIMIT_DATA`), so that nothing swaps and no other process is killed.
    """
    import psutil

    allowed = int(psutil.Process().memory_info().data) + count_bytes
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        allowed = min(allowed, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (allowed, hard))


def can_allocate(count_bytes: int) -> bool:
    """Whether the system grants so much memory; none of it is touched, and it is given back at once."""
    try:
        mmap.mmap(-1, max(1, count_bytes), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True
