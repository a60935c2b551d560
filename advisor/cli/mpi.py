"""`apportion mpi`: a user's own MPI program, recorded while it runs, or by another program."""

from collections.abc import Callable
from pathlib import Path

import simulator
from advisor.cli import signs
from advisor.cli.declared import REQUIRED, argument, option
from advisor.cli.inputs import INPUT
from advisor.cli.options import folder
from advisor.cli.outputs import finish
from advisor.cli.progress import counting
from simulator import RecordingFacts, ScenarioError, calibration, units


def record(
    command: list[str] = argument("The launcher with your program and its arguments.", metavar="COMMAND"),
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
    _finish(made, str(output), output)


def import_(
    source: Path = argument("A time-independent trace of SimGrid, a list of such, or GOAL.", metavar="IN", **INPUT),
    speed: str | None = option(
        "Speed of the machine that the trace was made on: what flops are seconds by.", metavar="FLOP/S"
    ),
    output: Path = folder("the recording", default=REQUIRED),
) -> None:
    """Take the ranks of an MPI program from a trace that another program wrote.

    A time-independent trace counts flops, which --speed turns into seconds, by default 1 Gflop/s. What cannot be read
    is refused by file and line.

    Example: apportion mpi import ring.ti --speed 4Gflop/s -o run
    """
    flops = None if speed is None else units.parse(speed, units.SPEED, field="--speed")
    if flops is not None and flops <= 0:
        raise ScenarioError(f"--speed: it is {speed}; give a speed above 0")
    made = simulator.import_recording(source, speed=flops)
    _finish(made, str(source), output, write=made.save)


def _finish(made: simulator.Recording, name: str, output: Path, write: Callable[[Path], object] | None = None) -> None:
    """Write a recording and show what is in it."""
    from advisor.report.recorded import recorded_page

    facts = RecordingFacts.of(made)
    said = {"Recording": f"{output}; what is in it: apportion show {output}"}
    finish(facts, recorded_page(facts, name), output, write=write, said=said)
