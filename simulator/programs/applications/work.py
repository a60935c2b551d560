"""What engines and advisor ask of an application whose units of work are divided among processes."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from simulator.models.doubt import Doubt, Noise
from simulator.programs.applications.process_grid import Shape
from simulator.programs.configuration import Configuration
from simulator.programs.program import Compute, Program

if TYPE_CHECKING:
    from simulator.platform.nodes import Platform


class Work(Protocol):
    """An application with its parameters; an application that says nothing else has the answers given here."""

    @property
    def units(self) -> int:
        """How many units a partition divides."""

    @property
    def varies_with_processes(self) -> bool:
        """Whether the computation of a unit depends on how many processes take part."""
        return False

    @property
    def has_master(self) -> bool:
        """Whether process 0 handles the messages of all others, one after the other."""
        return False

    def rounds(self, processes: int) -> int:  # noqa: ARG002 - the same for any number
        """About how often the loop of a process goes round, each time with a computation and a few messages."""
        return 1

    def compute(self, processes: int) -> Callable[[int], Compute]:
        """What a process with so many units computes in all, if so many processes take part; an estimate likewise."""

    def messages_bytes(self, units: int) -> tuple[int, ...]:
        """Payloads that a process with so many units handles, one after the other; with a master, to and from it.

        An estimate for choosing partitions, which does not fall with the units; the program has them as they are.
        """

    def grids(self, processes: int) -> tuple[Shape, ...]:  # noqa: ARG002 - most have none
        """Grids that so many processes may form, (rows, columns), the flattest first; none if it knows no grids."""
        return ()

    def fitting(self, partition: tuple[int, ...], grid: Shape | None = None) -> tuple[int, ...]:  # noqa: ARG002
        """The partition nearest to one that the application can use; most can use any that adds up.

        Parameters
        ----------
        grid
            Of the configuration; None: as the application has it.
        """
        return partition

    def program(self, configuration: Configuration) -> Program:
        """The operations of all processes.

        Raises
        ------
        ScenarioError
            If the partition does not fit.
        """

    def hosted_on(self, configuration: Configuration, platform: "Platform") -> Program:  # noqa: ARG002
        """The operations of all processes where they depend on the links and disks of a platform; most do not.

        Raises
        ------
        ScenarioError
            If the partition does not fit, or the platform lacks what it asks for.
        """
        return self.program(configuration)

    @property
    def hosted(self) -> bool:
        """Whether the program depends on where its processes are placed."""
        return False

    def doubt(self, processes: int) -> Doubt | None:  # noqa: ARG002 - what is counted is not doubted
        """What is not known of its times if so many processes take part, as `Program.doubt` says it."""
        return None

    def noise(self, processes: int) -> Noise | None:  # noqa: ARG002
        """How its times differ from run to run, as `Program.noise` says it."""
        return None

    def warnings(self, processes: int) -> tuple[str, ...]:  # noqa: ARG002 - most have the same for any number: none
        """What to know before the costs are trusted, if so many processes take part; one line each."""
        return ()
