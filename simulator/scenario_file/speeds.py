"""Speeds of PEs: the kinds of them that a file can say, and what is written back."""

from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import Discriminator, Tag

from simulator.base.form import FileName, Form, Speed
from simulator.base.units import write_speed
from simulator.models.speed import SpeedBand, SpeedSurface
from simulator.platform.doubt_forms import DoubtForm, NoiseForm
from simulator.platform.named_files import NamedFiles
from simulator.scenario_file.memory import PredictedForm


class BandForm(Form):
    """A speed band: speeds in units of volume per second over problem sizes in elements; constant beyond the ends."""

    sizes: list[float]
    """Elements stored and processed, ascending."""
    low: list[float]
    """Lowest speed at each size, in units of volume per second; straight lines between."""
    mid: list[float]
    """Middle speed at each size."""
    high: list[float]
    """Highest speed at each size."""
    doubt: DoubtForm | None = None
    """What is not known of the middle speed; without it and without noise the whole band is doubt."""
    noise: NoiseForm | None = None
    """How one run differs from the next."""
    source: str | None = None
    """What all PEs that name it share most of their doubt by, `""` for each PE alone; by default PEs of one entry."""

    def speed(self, named: NamedFiles) -> SpeedBand:  # noqa: ARG002 - names no file
        """The band."""
        return replace(SpeedBand.from_dict(self.model_dump(exclude={"source"})), source=self.source or "")


class FunctionForm(Form):
    """A speed function: one speed over problem sizes; constant beyond the ends."""

    sizes: list[float]
    """Elements stored and processed, ascending."""
    speeds: list[float]
    """Speed at each size, in units of volume per second; straight lines between."""

    def speed(self, named: NamedFiles) -> SpeedBand:  # noqa: ARG002 - names no file
        """A band without width."""
        speeds = np.array(self.speeds, dtype=np.float64)
        return SpeedBand(np.array(self.sizes, dtype=np.float64), speeds, speeds, speeds)


class SurfaceForm(Form):
    """Speed bands by number of columns: the application's n says which holds, or between which two it lies."""

    columns: list[float]
    """Columns of the panels that were measured, ascending."""
    bands: list[BandForm]
    """The band over problem size of each."""

    def speed(self, named: NamedFiles) -> SpeedSurface:  # noqa: ARG002 - names no file
        """The surface."""
        return SpeedSurface.from_dict(self.model_dump())


class ModelForm(Form):
    """A speed model."""

    model: FileName
    """The file, which `apportion calibrate speed` wrote."""

    def speed(self, named: NamedFiles) -> SpeedBand | SpeedSurface:
        """What the file holds."""
        return named.speed(self.model)


def _speed_kind(value: Any) -> str:
    if not isinstance(value, dict):
        return "<constant>"
    if "predicted" in value:
        return "<predicted>"
    if "model" in value:
        return "<model>"
    if "columns" in value or "bands" in value:
        return "<surface>"
    return "<function>" if "speeds" in value else "<band>"


SpeedForm = Annotated[
    Annotated[Speed, Tag("<constant>")]
    | Annotated[BandForm, Tag("<band>")]
    | Annotated[FunctionForm, Tag("<function>")]
    | Annotated[SurfaceForm, Tag("<surface>")]
    | Annotated[ModelForm, Tag("<model>")]
    | Annotated[PredictedForm, Tag("<predicted>")],
    Discriminator(_speed_kind),
]


def speed_data(band: SpeedBand) -> Any:
    """A speed band, the surface that it is a slice of, or the one speed that it is."""
    if band.surface is not None:
        return band.surface.to_dict()
    if band.sizes.size == 1 and band.sizes[0] == 1 and band.low[0] == band.high[0]:
        return write_speed(float(band.mid[0]))
    return band.to_dict() | ({"source": band.source} if band.doubtful else {})
