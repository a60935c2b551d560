"""Kinds of message times, a file with its `KIND` each: what a model says, how it is fitted, what it is called."""

import importlib
import pkgutil

from simulator.models.network.kinds.kind import Fit, Kind, MessageModel

KINDS: tuple[Kind, ...] = tuple(
    sorted(
        (
            importlib.import_module(f"{__name__}.{module.name}").KIND
            for module in pkgutil.iter_modules(__path__)
            if module.name != "kind"
        ),
        key=lambda kind: kind.rank,
    )
)
"""All of them: first those that are given as they are, then those that are fitted, the simplest first."""
FITS: dict[str, Fit] = {
    fit.name: fit for fit in sorted((fit for kind in KINDS for fit in kind.fits), key=lambda fit: fit.rank)
}
"""Form -> its fit; the simplest first: of forms that are equally good the first is taken."""
FORMS: dict[str, type[MessageModel]] = {fit.name: kind.model for kind in KINDS for fit in kind.fits}
"""Name of a form -> the class of its model."""
