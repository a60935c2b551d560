"""`apportion check`: read a scenario, and show its explicit form or the JSON Schema of files."""

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import simulator
from advisor.cli.declared import Given, Only, argument, only_without, option
from advisor.cli.inputs import SCENARIO, SCENARIO_HELP
from advisor.cli.models import warned
from advisor.cli.options import Changes, gave_json
from advisor.cli.outputs import width

MOST_NAMED = 5
"""Configurations that are named."""


def _subject(given: Given) -> str:
    if given["schema"]:
        return "with --schema"
    graph = given["scenario"] is not None and ".seg" in given["scenario"].suffixes
    return "with a software execution graph" if graph else "with a scenario"


def check(
    scenario: Path | None = argument(
        f"{SCENARIO_HELP} Or platform, or graph: NAME.seg.yaml.", None, metavar="SCENARIO", **SCENARIO
    ),
    resolved: bool = option(
        "Print the explicit form, as YAML that loads to an equal scenario.",
        Only(("with a scenario",), _subject),
        only_without("json", why="since YAML is printed"),
    ),
    schema: bool = option("Print the JSON Schema of scenario files; of others with platform or seg behind."),
    changes: Annotated[Changes, Only(("with a scenario",), _subject)] = None,
) -> None:
    """Read a scenario file, or a software execution graph, and say whether it can be used.

    Example: apportion check scenarios/tutorial/cluster.yaml --resolved
    """
    if schema:
        text = simulator.scenario_schema(str(scenario or "scenario"))
        if not gave_json(json.loads(text)):
            print(text, end="")
        return
    if scenario is None:
        raise typer.BadParameter("give a scenario file, or --schema")
    if ".seg" in scenario.suffixes:
        _graph_summary(scenario)
        return
    if resolved:
        print(simulator.resolved_text(scenario, changes=changes or ()), end="")
        return
    summary(scenario, changes or ())


def _graph_summary(path: Path) -> None:
    """Say what a software execution graph costs, in symbols, and what its RUVs are by."""
    found = simulator.describe_seg(path)
    if gave_json({"seg": str(path), **found}):
        return
    print(f"{path}: {', '.join(graph['name'] for graph in found['graphs'])}")
    for graph in found["graphs"]:
        print(graph["formula"])
    for method in found["methods"]:
        print(f"{method}: {', '.join(found['operations'][method]) or 'no operation'}")


def summary(scenario: Path, changes: Sequence[str]) -> None:
    """Say what is in a scenario that can be used."""
    loaded = simulator.load_either(scenario, changes=changes)
    platform = loaded if isinstance(loaded, simulator.Platform) else loaded.platform
    inside_it = {"pes": len(platform.pes), "nodes": len(platform.node_names), "links": len(platform.network.links)}
    counted = inside_it | {"contention": platform.network.contention}
    if isinstance(loaded, simulator.Platform):
        if not gave_json({"platform": str(scenario)} | counted):
            print(f"{scenario}: a platform of {counted['pes']} PEs on {counted['nodes']} nodes")
        return
    ready, inside = _ready(loaded), simulator.contents_of(loaded)
    document = counted | {
        "scenario": str(scenario),
        "application": loaded.application.name,
        "cores": inside.cores,
        "kinds": inside.to_dict()["kinds"],
        "drawn": list(inside.drawn),
        "configurations": [
            {"name": configuration.name, "processes": len(configuration.partition)}
            for configuration in loaded.configurations
        ],
        "replications": loaded.replications,
        "seed": loaded.seed,
        "inputs": dict(loaded.inputs),
        "changes": [{"path": change.path, "before": change.before, "after": change.after} for change in loaded.changes],
        "extrapolation": [found.to_dict() for found in loaded.extrapolations],
        "ready": ready,
        "warnings": list(loaded.warnings),
    }
    if gave_json(document):
        return
    configurations = ", ".join(_few([one.name for one in loaded.configurations]))
    counts = {"node": inside.nodes, "PE": inside.pes, "core": inside.cores}
    where = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items())
    said = [f"{scenario}: {loaded.application.name} on {where}; configurations {configurations}", *inside.lines()]
    said.append(f"ready for {', '.join(command for command, lines in ready.items() if not lines)}")
    for command, lines in ready.items():
        # most scenarios are of other machines: one line of verify will do
        shown = 1 if command == "verify" else len(lines)
        more = f" (and {len(lines) - shown} more, with --json)" if len(lines) > shown else ""
        said += [f"not for {command}: {line}{more}" for line in lines[:shown]]
    print(
        "\n".join(
            textwrap.fill(line, width(), subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)
            for line in [*said, *warned(loaded.warnings)]
        )
    )


def _few(names: list[str]) -> list[str]:
    return [*names[:MOST_NAMED], *([f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else [])]


def _ready(scenario: "simulator.Scenario") -> dict[str, list[str]]:
    """By command, what the scenario lacks for it; what it lacks for all of them was refused when it was read."""
    from advisor.advise.ready import lacks, lacks_for_launchers
    from advisor.verification.check import lacks_here

    found = {"simulate": [], "whatif": [], "advise": lacks(scenario), "verify": lacks_here(scenario)}
    unnamed = lacks_for_launchers(scenario)
    return found | ({"advise -o": unnamed} if unnamed else {})
