"""Models of neighbours from and to files: domains and uses as scenarios write them, with the cells they rest on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from simulator.base import files, ties, units
from simulator.base.arrays import Floats
from simulator.base.documents import SPARE, Data, FormError, at
from simulator.base.errors import ScenarioError, meant, some_names
from simulator.base.tables import Table, as_table, read_table
from simulator.models.doubt import DRIFT, Doubt
from simulator.models.file import ModelFile, refuse, write_model
from simulator.models.neighbours import KernelUses, SharingDomain
from simulator.models.neighbours_fit import (
    WEAK,
    Cell,
    CellEntry,
    Computation,
    Found,
    Proposed,
    Together,
    cells_of,
    fit_cells,
    kernel_uses,
    predict_share,
    predicted_held_out,
)
from simulator.models.neighbours_forms import AnyDomainForm, KernelUsesForm, law_data, understood, uses_data

COLUMNS = ("subject", "size_elements", "beside", "lone_s", "together_s")
"""Of a table of visits; `pass` and `pes` may follow."""
_DOMAIN: TypeAdapter[AnyDomainForm] = TypeAdapter(AnyDomainForm)
_USES = TypeAdapter(KernelUsesForm)
MOST_UNKNOWN = 0.5
"""Standard deviation of the logarithm of a loss of which nothing is known."""
_WORTH = 0.001
"""Mean error that a domain with a weak effect has to spare."""


@dataclass(frozen=True, kw_only=True)
class NeighboursModel(ModelFile):
    """What computations on a node's PEs lose to each other."""

    FORMAT, KIND, WRITER = 2, "neighbours", "apportion calibrate neighbours"
    pe_count: int
    """PEs of the node that were measured."""
    domains: tuple[Mapping[str, Any], ...]
    """As the field `domains` of a scenario's node."""
    places: tuple[tuple[int | tuple[int, ...], ...], ...]
    """PEs of each entry: of one domain a list, of several a list of lists."""
    uses: Mapping[str, Mapping[str, object]]
    """As the field `uses` of a scenario's node."""
    kernels: tuple[str, ...]
    """Those that were measured, also without an effect."""
    beyond: Mapping[str, float | None]
    """Level without a domain -> up to which effect, as a share of time, none was seen; None: it was not looked at."""
    held_out: Mapping[str, int | float]
    """Errors on cells that the fit did not see, see `errors_of`."""
    pairs: tuple[CellEntry, ...]
    """What it rests on."""
    doubt: Doubt | None = field(default=None, metadata=SPARE)
    """What is not known of losses; all domains have it, see `SharingDomain.doubt`. None in files of before."""

    def __post_init__(self) -> None:
        _ = self.sharing, self.kernel_uses

    @cached_property
    def sharing(self) -> tuple[SharingDomain, ...]:
        """Domains; PEs are places within the node."""
        if len(self.domains) != len(self.places):
            raise FormError([(("places",), f"there are {len(self.places)} entries; give {len(self.domains)}")])
        found: list[SharingDomain] = []
        for number, (entry, places) in enumerate(zip(self.domains, self.places, strict=True)):
            with at("domains", str(number)):
                form = understood(_DOMAIN, entry)
                each: Sequence[Any] = [places] if form.each is None else places
                names = [f"{form.level_name} {k + 1}" for k in range(len(each))] if form.name is None else [form.name]
                if len(names) != len(each) or not all(isinstance(pes, tuple) for pes in each):
                    raise ScenarioError("places: there is not a list of PEs for each domain")
                law = form.law(())
                found += [
                    SharingDomain(form.kind, name, form.level_name, pes, law, self.doubt)
                    for name, pes in zip(names, each, strict=True)
                ]
        return tuple(found)

    @cached_property
    def kernel_uses(self) -> Mapping[str, KernelUses]:
        """What each kernel uses, over its problem size."""
        found = dict.fromkeys(self.kernels, KernelUses(np.array([1.0]), {}, {}))
        for name, use in self.uses.items():
            with at("uses", name):
                found |= {name: understood(_USES, use).uses()} if name in found else {}
        return found

    def kept(
        self,
        subject: Computation | tuple[str, float],
        beside: Sequence[Computation | tuple[str, float]],
        *,
        pes: Sequence[int] | None = None,
    ) -> float:
        """The share of its lone speed that a computation keeps next to others.

        Raises ScenarioError if a kernel was not measured, or there are not so many PEs.

        `subject`, `beside`: kernels with their problem sizes in elements.
        `pes`: where the subject and then the others are, among the node's PEs; the first ones by default.
        """
        own, others = _computation(subject), [_computation(computation) for computation in beside]
        places = tuple(range(1 + len(others))) if pes is None else tuple(pes)
        for computation in (own, *others):
            if computation.kernel not in self.kernels:
                hint = meant(computation.kernel, self.kernels) or f"; {some_names(sorted(self.kernels))} were"
                raise ScenarioError(f"neighbours: {computation.kernel!r} was not measured{hint}")
        if len(places) != 1 + len(others) or len(set(places)) < len(places) or max(places) >= self.pe_count:
            raise ScenarioError(
                f"neighbours: {1 + len(others)} computations cannot be on PEs {sorted(places)}; "
                f"place each on one of the {self.pe_count} PEs of the node"
            )
        return predict_share(self.sharing, self.kernel_uses, own, others, places)

    def together_share(self, kernel: str, size: float, n: int) -> float:
        """The share of its lone speed that a kernel keeps where it runs on `n` PEs at once, itself counted."""
        one = Computation(kernel, float(size))
        return self.kept(one, [one] * (n - 1))


def _entry(alike: Sequence[SharingDomain], pe_count: int) -> Data:
    """What stands for domains of one level and law that cut all PEs into blocks, or for one domain."""
    domain = alike[0]
    data: Data = {"kind": domain.kind} | ({"level": domain.level} if domain.kind == "cache" else {})
    if len(alike) > 1:
        data["each"] = len(domain.pes)
    else:
        data["name"] = domain.name
    if len(alike) == 1 and len(domain.pes) < pe_count:
        data["pes"] = [f"pe{place + 1}" for place in domain.pes]
    return data | law_data(domain.law)


def _rounded(uses: KernelUses) -> KernelUses:
    """To as many digits as are known, without levels that it does not use."""
    levels = [level for level, taken in uses.demands.items() if taken.any() or uses.sensitivities[level].any()]
    demands, felt = (
        {level: _digits(values[level], digits) for level in levels}
        for values, digits in ((uses.demands, 6), (uses.sensitivities, 4))
    )
    return KernelUses(_digits(uses.sizes, 9), demands, felt)


def _digits(values: Floats, digits: int) -> Floats:
    return np.array([float(f"{value:.{digits}g}") for value in values])


def _computation(computation: Computation | tuple[str, float]) -> Computation:
    return computation if isinstance(computation, Computation) else Computation(computation[0], float(computation[1]))


def fit_neighbours(
    visits: Sequence[Together],
    proposed: Sequence[Proposed],
    *,
    pe_count: int,
    footprints: Mapping[Computation, float] | None = None,
    warnings: Sequence[str] = (),
    provenance: Mapping[str, Any] | None = None,
    judge: bool = True,
) -> NeighboursModel:
    """Fit visits; see `neighbours_fit`.

    `judge`: whether to fit again without a fifth of the cells, five times, to judge the errors of what was not
    measured.
    """
    if not visits:
        raise ScenarioError("neighbours: there is no visit; measure times alone and together")
    cells = cells_of(visits)
    found = fit_cells(cells, proposed, footprints=footprints)
    held_out, doubt = _judged(cells, proposed, found, footprints) if judge else ({}, None)
    if 0 < found.evidence < WEAK and not _is_worth_it(held_out):
        found = fit_cells(cells, proposed, footprints=footprints, structure=found.without)
        held_out, doubt = _judged(cells, proposed, found, footprints) if judge else ({}, None)
    alike, uses = _alike(found.domains, pe_count), kernel_uses(found)
    return NeighboursModel(
        pe_count=pe_count,
        domains=tuple(_entry(domains, pe_count) for domains in alike),
        places=tuple(one[0].pes if len(one) == 1 else tuple(member.pes for member in one) for one in alike),
        uses=uses_data({name: known for name, use in uses.items() if (known := _rounded(use)).demands}),
        kernels=tuple(sorted(uses)),
        beyond={level: None if np.isinf(effect) else effect for level, effect in sorted(found.beyond.items())},
        held_out=held_out,
        pairs=tuple(cell.entry for cell in cells),
        warnings=(*warnings, *found.notes, *_unseen(found)),
        provenance=provenance or {},
        doubt=doubt,
    )


def _judged(
    cells: Sequence[Cell], proposed: Sequence[Proposed], found: Found, footprints: Mapping[Computation, float] | None
) -> tuple[dict[str, float], Doubt | None]:
    predicted, judged = predicted_held_out(cells, proposed, found, footprints=footprints)
    chosen = [cell for cell, is_judged in zip(cells, judged, strict=True) if is_judged]
    if not chosen:
        return {}, None
    return errors_of(chosen, predicted[judged]), _doubt(chosen, predicted[judged])


def _doubt(cells: Sequence[Cell], predicted: Floats) -> Doubt:
    """What is not known of losses: errors of held-out cells over the losses predicted, both as mean squares."""
    seen, lost = np.array([cell.ratio for cell in cells]), np.maximum(predicted - 1, 0.0)
    twice = [cell.twice for cell in cells if cell.twice is not None]
    noise = float(np.sqrt(np.pi) / 2 * np.mean(twice)) if twice else 0.0  # of one: two differ by 2 / sqrt(pi) of it
    explained = max(0.0, float(np.mean((seen - predicted) ** 2)) - noise**2)
    loss = float(np.mean(lost**2))
    form = MOST_UNKNOWN if loss <= 0 else min(MOST_UNKNOWN, np.sqrt(explained / loss))
    return Doubt.of_parts({"form": float(form), "drift": DRIFT})


def _is_worth_it(held_out: Mapping[str, float]) -> bool:
    """Whether a model predicts what it did not see clearly better than no interaction does."""
    if not held_out:
        return False
    return ties.is_less(held_out["model_mean"], held_out["no_interaction_mean"], floor=_WORTH)


def _unseen(found: Found) -> list[str]:
    """A line for each level that has no domain."""
    lines = []
    for level, effect in sorted(found.beyond.items()):
        if np.isinf(effect):
            lines.append(f"{level}: no domain: nothing was measured that would show one")
        else:
            lines.append(f"{level}: no domain: no interaction beyond {effect:.1%} of time was seen")
    return lines


def errors_of(cells: Sequence[Cell], predicted: Floats) -> dict[str, float]:
    """Mean and worst error of time together over time alone, as predicted, (N,), and as if nobody lost anything."""
    seen = np.array([cell.ratio for cell in cells])
    found: dict[str, float] = {"cells": len(cells)}
    for name, values in (("model", predicted), ("no_interaction", np.ones(len(cells)))):
        wrong = np.abs(values / seen - 1)
        found |= {f"{name}_mean": float(wrong.mean()), f"{name}_worst": float(wrong.max())}
    return found


def _alike(sharing: Sequence[SharingDomain], pe_count: int) -> list[list[SharingDomain]]:
    """Domains of one level and law that cut all PEs into blocks, together; all others by themselves."""
    found: list[list[SharingDomain]] = []
    for domain in sharing:
        same = [other for other in sharing if other.level == domain.level and other.law == domain.law]
        size = len(same[0].pes)
        blocks = [tuple(range(first, min(first + size, pe_count))) for first in range(0, pe_count, size)]
        if [member.pes for member in same] != blocks:
            found.append([domain])
        elif domain is same[0]:
            found.append(same)
    return found


save_neighbours = write_model


def read_neighbours(path: str | Path) -> NeighboursModel:
    """Read a model; see `FileForm.load`."""
    return NeighboursModel.load(path)


# Tables.


def read_visits(path: str | Path) -> tuple[Together, ...]:
    """Read visits from a CSV file: `subject,size_elements,beside,lone_s,together_s[,pass][,pes]`.

    `beside` and `pes` are lists separated by spaces: `triad:3e6 dgemm:1e5`, and `0 1 3` with the subject's first.
    """
    table = read_table(path)
    pairs = _read_pairs(table)
    lone, together = table.numbers("lone_s"), table.numbers("together_s")
    numbers = table.numbers("pass") if "pass" in table.names else np.zeros(len(table.rows))
    pes = table.text("pes") if "pes" in table.names else ("",) * len(table.rows)
    faults, found = [], []
    for row, place in enumerate(table.labels()):
        places = tuple(int(word) if word.isdigit() else -1 for word in pes[row].split())
        if min(lone[row], together[row]) <= 0:
            faults.append(f"{place}: times {lone[row]:g} and {together[row]:g} are not both above 0; give seconds")
        elif places and (len(places) != 1 + len(pairs[row][1]) or min(places) < 0 or len(set(places)) < len(places)):
            faults.append(f"{place}: pes: {pes[row]!r} does not place each computation; write one number for each")
        else:
            found.append(Together(*pairs[row], float(lone[row]), float(together[row]), int(numbers[row]), places))
    refuse(faults)
    return tuple(found)


def _read_pairs(table: Table) -> list[tuple[Computation, tuple[Computation, ...]]]:
    """Subject and neighbours of each row."""
    missing = [name for name in COLUMNS[:3] if name not in table.names]
    if missing:
        there = ", ".join(table.names)
        raise ScenarioError([f"{table.place}: column {name!r} is missing; there are {there}" for name in missing])
    sizes, subjects, neighbours = table.numbers("size_elements"), table.text("subject"), table.text("beside")
    faults, pairs = [], []
    for row, place in enumerate(table.labels()):
        others = [_read_computation(word) for word in neighbours[row].split()]
        if not subjects[row]:
            faults.append(f"{place}: subject is empty; write the name of a kernel")
        elif sizes[row] <= 0:
            faults.append(f"{place}: size_elements: {sizes[row]:g} is not above 0; give the problem size in elements")
        elif None in others:
            bad = neighbours[row].split()[others.index(None)]
            faults.append(f"{place}: beside: {bad!r} is not KERNEL:SIZE; write a space between several")
        else:
            known = tuple(computation for computation in others if computation is not None)
            pairs.append((Computation(subjects[row], float(sizes[row])), known))
    refuse(faults)
    return pairs


def _read_computation(word: str) -> Computation | None:
    kernel, colon, size = word.rpartition(":")
    number = units.to_number(size) if colon and kernel else None
    return Computation(kernel, number) if number is not None and np.isfinite(number) and number > 0 else None


def visits_table(visits: Sequence[Together]) -> str:
    """Visits as a CSV text that `read_visits` reads."""
    rows: list[Sequence[object]] = [(*COLUMNS, "pass", "pes")]
    for visit in visits:
        others = " ".join(f"{other.kernel}:{other.size!r}" for other in visit.neighbours)
        pes = " ".join(map(str, visit.pes))
        lone, together = repr(visit.lone_s), repr(visit.together_s)
        rows.append((visit.subject.kernel, repr(visit.subject.size), others, lone, together, visit.number, pes))
    return files.csv_lines(rows)


def predict_neighbours(path: str | Path, at: Table | str | Path) -> list[Data]:
    """Times together over times alone at the pairs of a table (`subject,size_elements,beside`), in its order.

    Raises ScenarioError if model or table cannot be used, or a kernel was not measured.
    """
    model, table = read_neighbours(path), as_table(at)
    entries, faults = [], []
    for place, (subject, neighbours) in zip(table.labels(), _read_pairs(table), strict=True):
        try:
            share = model.kept(subject, neighbours)
        except ScenarioError as error:
            faults += [f"{place}: {line}" for line in error.lines]
            continue
        entries.append(
            {
                "subject": subject.kernel,
                "size_elements": subject.size,
                "beside": [neighbour.label for neighbour in neighbours],
                "ratio": 1 / share,
                "outside_sizes": any(_is_outside(model, computation) for computation in (subject, *neighbours)),
            }
        )
    refuse(faults)
    return entries


def _is_outside(model: NeighboursModel, computation: Computation) -> bool:
    """Whether a size is beyond those that were measured of its kernel."""
    known = [pair.size_elements for pair in model.pairs if pair.subject == computation.kernel]
    return bool(known) and not min(known) * (1 - 1e-9) <= computation.size <= max(known) * (1 + 1e-9)
