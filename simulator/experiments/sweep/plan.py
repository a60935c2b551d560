"""Plans: which points a sweep has, what is asked of each, and the hash of all that decides an answer."""

import base64
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from simulator.base import files
from simulator.base.errors import ApportionError, ScenarioError
from simulator.base.intervals import LEVEL
from simulator.base.provenance import versions
from simulator.scenario_file.load import Template, dump_scenario, read_template
from simulator.scenario_file.scenario import Scenario, truth_count

Document = dict[str, Any]
"""What the file of a point says."""
Ask = Callable[[Scenario, int], Document]
"""What is asked of a point: a function of its scenario and the threads to use, or an object that is called like one and
has a `name`, and `runs` where it may simulate so many only. The answer is a part of the point's file.

Its entry `configurations` is a list of `name`, `tick_s` and `makespan_ticks` (replication,).
"""
LIMIT_BYTES = 2**30
_Changed = list[tuple[tuple[str, ...], dict[str, object]]]
"""Changes of each point, and what stands at each path then."""


@dataclass(frozen=True)
class Point:
    """One scenario of a sweep."""

    hash: str
    """Of the scenario with its changes, the seed, the question and the version: equal hash, equal answer."""
    changes: tuple[str, ...]
    """`PATH=VALUE`, as asked for."""
    values: Mapping[str, object]

    def at(self, path: str, before: object) -> object:
        """What stands at a path of the sweep, where it has `before` in the base."""
        return self.values.get(path, before)


@dataclass(frozen=True)
class Plan:
    """All points of a sweep; the first one is the base."""

    path: Path
    data: Any
    resolved: str
    inputs: Mapping[str, str]
    """Name of each file that points read, and its hash."""
    paths: Mapping[str, Path]
    before: Mapping[str, object]
    replications: int
    truths: int | None
    """Of every point, so that what is unknown is the same at each; None where the base knows of no doubt."""
    strata: int | None
    """Of every point, see `Scenario.strata`."""
    level: float
    seed: int
    oversized: bool
    """Whether configurations that memory does not hold are taken, where they are not what is asked about."""
    paired: bool
    """Whether all points share seed and replications; else each has its own."""
    ask: Ask
    version: str
    points: tuple[Point, ...]

    @property
    def question(self) -> str:
        """What is asked, by name."""
        return getattr(self.ask, "name", None) or self.ask.__qualname__

    @property
    def common(self) -> Mapping[str, object]:
        """What all points share, and sweeps must have in common to go on with each other's points."""
        return {
            "scenario": self.data,
            "inputs": dict(self.inputs),
            "replications": self.replications,
            "truths": self.truths,
            "strata": self.strata,
            "seed": self.seed,
            "question": self.question,
            "runs": getattr(self.ask, "runs", None),
            "version": self.version,
        }

    @property
    def name(self) -> str:
        """Short name, unlike that of any other plan."""
        return _hash([self.common, [point.hash for point in self.points]])[:16]

    def payload(self) -> str:
        """All that a worker needs, as JSON text."""
        inputs = {
            name: base64.b64encode(files.read_bytes(path, limit_bytes=LIMIT_BYTES)).decode()
            for name, path in self.paths.items()
        }
        head = {
            "path": str(self.path),
            "absolute": str(self.path.absolute()),
            "oversized": self.oversized,
            "paired": self.paired,
            "files": inputs,
        }
        listed = [[point.hash, point.changes] for point in self.points]
        return json.dumps({**self.common, **head, "points": listed})

    def find(self, prefix: str) -> Point:
        """The point whose hash begins so."""
        found = [point for point in self.points if prefix and point.hash.startswith(prefix)]
        if len(found) == 1:
            return found[0]
        raise ScenarioError(
            f"--only is {prefix!r}, which the hashes of {len(found)} points begin with; give more of the hash"
        )


def make_plan(  # noqa: PLR0913 - all by name
    path: Path,
    asked: Sequence[Sequence[str]],
    *,
    ask: Ask,
    replications: int | None = None,
    seed: int | None = None,
    level: float = LEVEL,
    oversized: bool = False,
    paired: bool = True,
    template: Template | None = None,
    here: bool = False,
) -> Plan:
    """The plan of a scenario file and the changes of each point; the base, without any, is put before them.

    `level`: how often stated intervals are to hold: it decides no answer of a point.
    `paired`: see `Plan.paired`.
    `template`: the file as it was read already.
    `here`: whether the points are done on this machine, whose memory the base then has to fit.
    """
    template = template or read_template(path)
    base = template.scenario(oversized=oversized)
    drawn = base.with_draws(replications, seed)
    if here:
        drawn.check_memory_needed()
    truths = truth_count(drawn) if drawn.doubtful else None
    changed, before = _changed(template, asked)
    _read_named(template, changed)
    common = Plan(
        path=path,
        data=template.document.data,
        resolved=dump_scenario(base),
        inputs=template.site.named.hashes(),
        paths=dict(template.site.named.used),
        before=before,
        replications=drawn.replications,
        truths=truths,
        strata=max(base.replications, drawn.replications),
        level=level,
        seed=drawn.seed,
        oversized=oversized,
        paired=paired,
        ask=ask,
        version=version_of(ask),
        points=(),
    )
    shared = _hash(common.common)
    listed = [Point(_hash([shared, sorted(values.items())]), changes, values) for changes, values in changed]
    return Plan(**{**vars(common), "points": tuple(listed)})


def _changed(template: Template, asked: Sequence[Sequence[str]]) -> tuple[_Changed, dict[str, object]]:
    """Every point, the base first; and what the file has at each path."""
    before = dict[str, object]()
    changed: _Changed = [((), {})]
    for changes in asked:
        try:
            made = template.changed(changes)[1]
        except ScenarioError as error:
            raise ScenarioError([line.replace("--set", "--vary", 1) for line in error.lines]) from None
        before |= {change.path: change.before for change in made}
        changed.append((tuple(changes), {change.path: change.after for change in made}))
    return changed, before


def _read_named(template: Template, changed: _Changed) -> None:
    """Read what changed values name, so that workers get these files too."""
    seen = set()
    for changes, values in changed:
        for change, value in zip(changes, values.values(), strict=True):
            named = [text for text in _texts(value) if (template.site.named.folder / text).is_file()]
            if named and change not in seen:
                seen.add(change)
                for text in named:
                    template.site.named.path(text)
                with suppress(ApportionError):  # the point will say so
                    template.scenario([change], oversized=True)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def version_of(ask: Callable[..., Any]) -> str:
    """Hash of the code that answers, and of the libraries that it uses."""
    packages = dict.fromkeys(("simulator", ask.__module__.split(".")[0]))
    return _hash([[_source_hash(package) for package in packages], versions()])


@cache
def _source_hash(package: str) -> str:
    found = hashlib.sha256()
    root = Path(next(iter(sys.modules[package].__path__)))
    for path in sorted(root.rglob("*.py")):
        found.update(path.relative_to(root).as_posix().encode() + b"\0" + files.read_bytes(path) + b"\0")
    return found.hexdigest()


def _hash(document: object) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True, default=str).encode()).hexdigest()
