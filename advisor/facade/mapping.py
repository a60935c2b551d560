"""One question about many scenarios: in processes of this machine, and kept in a folder as answers come."""

import hashlib
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from advisor.advise.recommendation import Recommendation
from advisor.facade.asking import Asked, load
from advisor.whatif.asking import WhatIf
from simulator import RunSet, Scenario, ScenarioError, given, notebook, template_of
from simulator.experiments.sweep import Swept, local, make_plan, sweep

if TYPE_CHECKING:
    import pandas as pd

DRAWN = 3
"""Columns of numbers that are drawn in a notebook."""
FEWEST_SAID = 20
"""Scenarios from which on it is said how many are done."""
NONE = "none-given"
"""The configuration that stands in the file of a scenario without any."""
_OURS = ("advisor", "simulator")


@dataclass(frozen=True)
class Question:
    """A function of a scenario as sweeps ask it: its answers are plain values."""

    ask: Callable[[Scenario], object]
    name: str
    """With the hash of its source: answers of an older one are not taken for those of this one."""

    def __call__(self, scenario: Scenario, threads: int) -> dict[str, Any]:  # noqa: ARG002 - the form of questions
        """The answer as a part of a point's file."""
        if [one.name for one in scenario.configurations] == [NONE]:
            scenario = scenario.with_configurations(())
        answer = plain_answer(self.ask(scenario), self.name)
        return {"configurations": [], "deterministic": False, "truths": None, "warnings": [], "answer": answer}


@dataclass(frozen=True)
class Mapped(Sequence[Any]):
    """Answers in the order of the scenarios; None where there is none, and `failed` says why."""

    swept: Swept

    def __len__(self) -> int:
        return len(self.swept.plan.points)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        document = self.swept.documents.get(self.swept.plan.points[place].hash)
        return None if document is None else document["answer"]

    @property
    def failed(self) -> Mapping[int, str]:
        """Why scenarios have no answer, by their place."""
        reasons = [self.swept.failed.get(point.hash) for point in self.swept.plan.points]
        return {place: why for place, why in enumerate(reasons) if why is not None}

    def to_dataframe(self) -> "pd.DataFrame":
        """A row per scenario: all numbers and texts of its answer, those of mappings under `name.name`."""
        return self.swept.table

    def __repr__(self) -> str:
        return f"Mapped({self.swept.plan.question.partition(' ')[0]}: {len(self)} scenarios, {len(self.failed)} failed)"

    def _repr_html_(self) -> str:
        table = self.to_dataframe().drop(columns=["hash"])
        rows = [{str(name): value for name, value in row.items()} for row in table.head(20).to_dict(orient="records")]
        numbers = table.drop(columns=["point"]).select_dtypes("number").dropna(axis=1)
        lines = {str(name): numbers[name].sort_values() for name in numbers.columns[:DRAWN]}
        drawn = (
            notebook.curves(range(len(self)), lines, labels=("scenarios, each line in its own order", ""))
            if lines
            else ""
        )
        return notebook.page(repr(self), drawn, notebook.table(rows, count=len(self)))


def map(  # noqa: A001 - `ap.map`
    question: Callable[..., object],
    scenarios: Iterable[Asked],
    *,
    workers: int = 0,
    folder: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Mapped:
    """Ask one question about many scenarios.

    >>> map(lambda scenario: len(scenario.platform.pes), ["two-cores", "three-pes"])[:]
    [2, 3]

    Raises ScenarioError if there is no scenario, one cannot stand in a file, or processes cannot import the function.

    `question`: `simulate`, `advise`, or a function of a scenario that returns plain values (numbers, texts, lists or
    mappings of them); with further arguments by `functools.partial`.
    `scenarios`: scenarios, files or shipped names; each keeps its own seed and replications.
    `workers`: processes of this machine that answer; 0 for this one.
    `folder`: where every answer is kept as it is found: the same call goes on where it was broken off.
    `progress`: called with how many are done, of how many; by default lines say so at every tenth.
    """
    loaded = [_writable(load(one)) for one in scenarios]
    if not loaded:
        raise ScenarioError("map: there is no scenario; give some")
    given.whole(workers, where="map: workers", least=0)
    asked = Question(question, _name_of(question, folder))
    if workers > 0:
        _check_importable(question)
    templates = [template_of(one) for one in loaded]
    documents = [{"truths": None, "notes": [], **one.document.data} for one in templates]
    first = documents[0]
    changes = [
        tuple(f"{key}={json.dumps(value)}" for key, value in one.items() if value != first[key])
        for one in documents[1:]
    ]
    path = templates[0].document.path
    plan = make_plan(path, changes, ask=asked, oversized=True, paired=False, template=templates[0])
    where = partial(local, min(workers, len(loaded))) if workers > 0 else None
    kept = None if folder is None else Path(folder)
    return Mapped(sweep(plan, where, folder=kept, resume=True, progress=progress or _said))


def _writable(scenario: Scenario) -> Scenario:
    """With a configuration where it has none, as files have one."""
    return scenario if scenario.configurations else replace(scenario, configurations={NONE: "equal"})  # type: ignore[arg-type] # made one


def _name_of(question: Any, folder: object) -> str:
    """The function by name, with the hash of its source if it is not ours, and what it is given further."""
    if isinstance(question, partial):
        said = json.dumps([question.args, question.keywords], sort_keys=True, default=str)
        return f"{_name_of(question.func, folder)} {said}"
    if not callable(question):
        raise ScenarioError(f"map: question: it is {given.shown(question)}; give a function, such as simulate")
    name = getattr(question, "__qualname__", type(question).__qualname__)
    if getattr(question, "__module__", "").partition(".")[0] in _OURS:
        return name
    try:
        return f"{name} {hashlib.sha256(inspect.getsource(question).encode()).hexdigest()[:12]}"
    except (OSError, TypeError):
        if folder is None:
            return name
        raise ScenarioError(f"map: the source of {name} cannot be read, so a folder cannot tell it again") from None


def _check_importable(question: Any) -> None:
    """Whether other processes find the function by its name."""
    of = question.func if isinstance(question, partial) else question
    name, module = getattr(of, "__qualname__", "<"), sys.modules.get(getattr(of, "__module__", ""))
    if "<" in name or (getattr(of, "__module__", "") == "__main__" and not hasattr(module, "__file__")):
        raise ScenarioError(f"map: other processes cannot import {name}; write it into a module, or leave workers out")


def _said(done: int, of: int) -> None:
    """Says how many are done, at every tenth."""
    if of >= FEWEST_SAID and done * 10 // of > (done - 1) * 10 // of:
        sys.stderr.write(f"{done} of {of} scenarios\n")


def plain_answer(found: Any, name: str) -> Any:
    """An answer as plain values, as JSON holds them."""
    if isinstance(found, RunSet):
        return {row["name"]: {key: value for key, value in row.items() if key != "name"} for row in found.summary()}
    if isinstance(found, Recommendation):
        return _of_advice(found)
    if isinstance(found, WhatIf):
        return found.findings
    try:
        return json.loads(json.dumps(found, allow_nan=False, default=lambda value: value.tolist()))
    except (AttributeError, TypeError, ValueError):
        what = f"{name.partition(' ')[0]} returned {given.shown(found)}"
        raise ScenarioError(f"map: {what}; return numbers, texts, lists or mappings of them") from None


def _of_advice(found: Recommendation) -> dict[str, Any]:
    """Who gets how much, what that is predicted to take, and how many times as long the others take."""
    gains, chosen = found.baselines, found.configuration
    pes = found.scenario.platform.pes
    return {
        "recommended": chosen.name,
        "partition": list(chosen.partition),
        "pes": [pes[place].name for place in chosen.placement],
        "predicted_s": asdict(found.predicted),
        "gain": {key: getattr(gains[found.reference], key) for key in ("mean", "low", "high")},
        "times_as_long": {name: gain.mean for name, gain in gains.items()},
    }
