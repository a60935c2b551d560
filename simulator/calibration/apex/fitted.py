"""A sweep of Apex-MAP with the models fitted to it, as `calibrate memory` writes it."""

from dataclasses import dataclass, replace

from simulator.base.machine import Machine
from simulator.calibration.apex.sweep import Sweep
from simulator.models.memory.file import MemoryFile, MemoryFit, fit_memory
from simulator.models.memory.forms import MemoryTimes
from simulator.models.memory.model import Sweeps


@dataclass(frozen=True)
class MeasuredMemory:
    """A sweep and the models fitted to it."""

    sweep: Sweep
    fit: MemoryFit

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to know before times or models are trusted."""
        return (*self.sweep.warnings, *self.fit.warnings)

    @property
    def file(self) -> MemoryFile:
        """A memory model's file, with what was measured."""
        cells = [cell.to_dict() for cell in self.sweep.cells]
        return replace(self.fit.file, sweep=self.sweep.to_dict(), cells=cells, warnings=self.warnings)


def fit_sweep(sweep: Sweep, machine: Machine, *, sweeps: Sweeps | None = None) -> MeasuredMemory:
    """Fit all models to a sweep measured on this machine, and keep what vector loops took; see `fit_memory`."""
    columns = (sweep.columns[name] for name in ("M_words", "alpha", "L", "time_per_word_s"))
    return MeasuredMemory(sweep, fit_memory(MemoryTimes(*columns), machine=machine, measured_here=True, sweeps=sweeps))
