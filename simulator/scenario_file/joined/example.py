"""An application to begin with, for a kernel that was measured: sizes that were measured, and that fit the memory."""

from dataclasses import dataclass

MOST_ROWS = 20_000
MEMORY_SHARE = 0.5
BLOCK = 64


@dataclass(frozen=True)
class Room:
    """What an application may take."""

    processes: int
    on_first_node: int
    largest_elements: float
    """Largest problem size of a computation that was measured on all PEs."""
    memory_bytes: float
    """Of the node that has least; infinite where nothing is known."""


@dataclass(frozen=True)
class Example:
    """An application with its parameters."""

    name: str
    parameters: dict[str, int]
    stands_in: bool
    """Whether it only stands for the user's own: the kernel is that of no application."""


def example(kernel: str, room: Room) -> Example:
    """The application whose costs the kernel was measured for; matmul for kernels of none."""
    if kernel == "fft":
        return Example("fft", {"n": _fft_rows(room)}, stands_in=False)
    if kernel == "sort":
        return Example("sort", {"n": _sort_keys(room)}, stands_in=False)
    if kernel == "cholesky":
        return Example(
            "cholesky", {"n": max(_cholesky_columns(room), BLOCK * room.processes), "nb": BLOCK}, stands_in=False
        )
    return Example("matmul", {"n": _matmul_rows(room)}, stands_in=kernel not in ("matmul", "dgemm"))


def _matmul_rows(room: Room) -> int:
    """N with `n**2 (1 + 2/P)` elements per process, and three matrices for the master beside its neighbours."""
    each = 1 + 2 / room.processes
    bytes_per_square = 24 + 8 * each * (room.on_first_node - 1)
    return _round(min(room.largest_elements / each, MEMORY_SHARE * room.memory_bytes / bytes_per_square) ** 0.5, room)


def _fft_rows(room: Room) -> int:
    """N with `4 n**2 / P` elements and `32 n**2 / P` bytes per process."""
    held = MEMORY_SHARE * room.memory_bytes * room.processes / (32 * room.on_first_node)
    return _round(min(room.largest_elements * room.processes / 4, held) ** 0.5, room)


def _sort_keys(room: Room) -> int:
    """N keys, all of which the first process holds in the end, two elements and 16 bytes each."""
    most = min(room.largest_elements / 2, MEMORY_SHARE * room.memory_bytes / (16 * room.on_first_node))
    return _round(most, room, most=10**9)


def _cholesky_columns(room: Room) -> int:
    """N with `n**2 / P` elements per process."""
    held = MEMORY_SHARE * room.memory_bytes * room.processes / (8 * room.on_first_node)
    return _round(min(room.largest_elements * room.processes, held) ** 0.5, room)


def _round(value: float, room: Room, *, most: int = MOST_ROWS) -> int:
    """Down to two digits, at least one unit for each process."""
    whole = int(min(value, float(most)))
    scale = 10 ** max(0, len(str(whole)) - 2)
    return int(max(room.processes, whole // scale * scale, 1))
