"""`apportion mpi`: a user's own MPI program, recorded while it runs."""

from pathlib import Path

from advisor.cli import signs
from advisor.cli.declared import REQUIRED, argument, option
from advisor.cli.options import folder
from advisor.cli.outputs import finish
from advisor.cli.progress import counting
from simulator import calibration


def record(
    command: list[str] = argument("The launcher with your program and its arguments.", metavar="-- COMMAND"),
    times: int = option("How often it is run: what computing takes differs from run to run.", default=3, min=1, max=99),
    mpicc: str | None = option("Compiler of the MPI in use; by default the one beside the launcher.", metavar="PATH"),
    output: Path = folder("the recording; called again after an interruption, the runs go on", default=REQUIRED),
) -> None:
    """Record what the ranks of your own MPI program do: their calls, messages and computing, without changing it.

    A recorder is compiled by your mpicc at its first use and preloaded; MPICH and Open MPI, C, C++, Fortran, mpi4py.
    Record on a quiet machine; MPI_Pcontrol(1) and MPI_Pcontrol(0) in the program choose the part that is kept.

    Example: apportion mpi record -o run --times 3 -- mpiexec -n 16 ./program input
    """
    signs.say("compiling the recorder")
    program = calibration.mpi_program(command, mpicc)
    made = calibration.record_program(program, output, times=times, on_progress=counting("runs recorded"))
    said = f"recording written to {output}; what is in it: apportion show {output}"
    finish(made, "".join(f"{line}\n" for line in made.lines), output, said=said)
