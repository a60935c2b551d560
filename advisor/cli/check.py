"""`apportion check | export`: read a scenario, show its explicit form or the files' JSON Schema, and export it."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import simulator
from advisor.cli.declared import Given, Only, only_without
from advisor.cli.options import Changes, Json, ScenarioSeed, folder, load_changed, print_json, print_warnings
from advisor.cli.scenarios import SCENARIO, SCENARIO_HELP
from simulator import ScenarioError, files

MOST_NAMED = 5
"""Configurations that are named."""


def _subject(given: Given) -> str:
    if given["schema"]:
        return "with --schema"
    graph = given["scenario"] is not None and ".seg" in given["scenario"].suffixes
    return "with a software execution graph" if graph else "with a scenario"


def check(
    scenario: Annotated[
        Path | None,
        typer.Argument(metavar="SCENARIO", help=f"{SCENARIO_HELP} Or platform, or graph: NAME.seg.yaml.", **SCENARIO),
    ] = None,
    resolved: Annotated[
        bool,
        typer.Option("--resolved", help="Print the explicit form, as YAML that loads to an equal scenario."),
        Only(("with a scenario",), _subject),
    ] = False,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema", help="Print the JSON Schema of scenario files; of others with platform or seg behind."
        ),
    ] = False,
    changes: Annotated[Changes, Only(("with a scenario",), _subject)] = None,
    as_json: Annotated[Json, only_without("resolved", why="which prints YAML")] = False,
) -> None:
    """Read a scenario file, or a software execution graph, and say whether it can be used.

    Example: apportion check scenarios/tutorial/cluster.yaml --resolved
    """
    if schema:
        text = simulator.scenario_schema(str(scenario or "scenario"))
        print(text, end="") if not as_json else print_json(json.loads(text))
        return
    if scenario is None:
        raise typer.BadParameter("give a scenario file, or --schema")
    if ".seg" in scenario.suffixes:
        _graph_summary(scenario, as_json=as_json)
        return
    if resolved:
        print(simulator.resolved_text(scenario, changes=changes or ()), end="")
        return
    _summary(scenario, changes or (), as_json=as_json)


def _platform_summary(path: Path, platform: "simulator.Platform", *, as_json: bool) -> None:
    """Say what is in a platform that can be used."""
    pes, nodes = len(platform.pes), len(platform.node_names)
    if as_json:
        document = {"format": 1, "command": "check", "platform": str(path), "pes": pes, "nodes": nodes}
        print_json({**document, "links": len(platform.network.links), "contention": platform.network.contention})
        return
    print(f"{path}: a platform of {pes} PEs on {nodes} nodes")


def _graph_summary(path: Path, *, as_json: bool) -> None:
    """Say what a software execution graph costs, in symbols, and what its RUVs are by."""
    found = simulator.describe_seg(path)
    if as_json:
        print_json({"format": 1, "command": "check", "seg": str(path), **found})
        return
    print(f"{path}: {', '.join(graph['name'] for graph in found['graphs'])}")
    for graph in found["graphs"]:
        print(graph["formula"])
    for method in found["methods"]:
        print(f"{method}: {', '.join(found['operations'][method]) or 'no operation'}")


def _summary(scenario: Path, changes: Sequence[str], *, as_json: bool) -> None:
    """Say what is in a scenario that can be used."""
    loaded = simulator.load_either(scenario, changes=changes)
    if isinstance(loaded, simulator.Platform):
        _platform_summary(scenario, loaded, as_json=as_json)
        return
    platform, ready, inside = loaded.platform, _ready(loaded), simulator.contents_of(loaded)
    if as_json:
        print_json(
            {
                "format": 1,
                "command": "check",
                "scenario": str(scenario),
                "application": loaded.application.name,
                "pes": len(platform.pes),
                "nodes": len(platform.node_names),
                "cores": inside.cores,
                "kinds": inside.to_dict()["kinds"],
                "drawn": list(inside.drawn),
                "links": len(platform.network.links),
                "contention": platform.network.contention,
                "configurations": [
                    {"name": configuration.name, "processes": len(configuration.partition)}
                    for configuration in loaded.configurations
                ],
                "replications": loaded.replications,
                "seed": loaded.seed,
                "inputs": dict(loaded.inputs),
                "changes": [
                    {"path": change.path, "before": change.before, "after": change.after} for change in loaded.changes
                ],
                "extrapolation": [found.to_dict() for found in loaded.extrapolations],
                "ready": ready,
                "warnings": list(loaded.warnings),
            }
        )
        return
    configurations = ", ".join(_few([one.name for one in loaded.configurations]))
    counts = {"node": inside.nodes, "PE": inside.pes, "core": inside.cores}
    where = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items())
    print(f"{scenario}: {loaded.application.name} on {where}; configurations {configurations}")
    print("\n".join(inside.lines()))
    print(f"ready for {', '.join(command for command, lines in ready.items() if not lines)}")
    for command, lines in ready.items():
        # most scenarios are of other machines: one line of verify will do
        shown = 1 if command == "verify" else len(lines)
        more = f" (and {len(lines) - shown} more, with --json)" if len(lines) > shown else ""
        print("".join(f"not for {command}: {line}{more}\n" for line in lines[:shown]), end="")
    print_warnings(loaded.warnings)


def _few(names: list[str]) -> list[str]:
    return [*names[:MOST_NAMED], *([f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else [])]


def _ready(scenario: "simulator.Scenario") -> dict[str, list[str]]:
    """By command, what the scenario lacks for it; what it lacks for all of them was refused when it was read."""
    from advisor.advise.ready import lacks, lacks_for_launchers
    from advisor.verification.check import lacks_here

    found = {"simulate": [], "whatif": [], "advise": lacks(scenario), "verify": lacks_here(scenario)}
    unnamed = lacks_for_launchers(scenario)
    return found | ({"advise -o": unnamed} if unnamed else {})


# `apportion export`: a scenario's platform as another program's files.


def export(  # noqa: PLR0913, PLR0917 - one per option
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="A scenario file (YAML, JSON or TOML).")],
    simgrid: Annotated[
        bool, typer.Option("--simgrid", help="As a SimGrid platform: platform.xml and a profile for each load.")
    ] = False,
    output: Annotated[Path | None, folder("platform.xml and the profiles")] = None,
    replication: Annotated[
        int, typer.Option(min=0, help="The one whose draws are written: where loads start, speeds in their bands.")
    ] = 0,
    seed: ScenarioSeed = None,
    size: Annotated[
        float | None, typer.Option(help="Problem size at which speeds are taken that depend on it.")
    ] = None,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Leave out what SimGrid does not have, and say so.")
    ] = False,
    changes: Changes = None,
    as_json: Json = False,
) -> None:
    """Write a scenario's platform for another simulator; what that cannot express is refused by name.

    Example: apportion export scenarios/tutorial/cluster.yaml --simgrid -o out/simgrid --size 1e6 --approximate
    """
    from dataclasses import replace

    if not simgrid:
        raise typer.BadParameter("--simgrid needed, which says for which program")
    if output is None:
        raise typer.BadParameter("--output is missing; name a folder")
    loaded = load_changed(scenario, changes=changes, resource_model=None)
    if seed is not None:
        loaded = replace(loaded, seed=seed)
    try:
        found = simulator.export_simgrid(loaded, replication=replication, size=size, approximate=approximate)
    except ScenarioError as error:
        options = [
            line.replace("; approximate:", "; --approximate:").replace("; size:", "; --size:") for line in error.lines
        ]
        raise ScenarioError([f"{scenario}: {line}" for line in options]) from error
    files.make_folder(output)
    for name, text in found.files.items():
        files.write_text(output / name, text)
    if as_json:
        notes = list(found.notes)
        document = {"files": list(found.files), "seed": loaded.seed, "replication": replication, "notes": notes}
        print_json({"format": 1, "command": "export", **document, "read_back": found.read_back})
        return
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"{output / 'platform.xml'} with profiles of {len(found.files) - 1} PEs, as in replication {replication}")
    print(f"read it back with {found.read_back}")
