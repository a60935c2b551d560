"""`apportion partition`: divide units among PEs whose speed functions are known."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from advisor.cli.declared import Given, Only, only_with
from advisor.cli.options import Json, Seed, file, offered
from advisor.cli.outputs import finish
from advisor.cli.scenarios import INPUT
from simulator import files

_DRAWN = "with --objective mean, cvar or worst"


def _drawing(given: Given) -> str:
    return "with --objective regret" if given["objective"] == "regret" else _DRAWN


Speeds = Annotated[
    Path,
    typer.Option(metavar="SPEEDS.json", help="List of {name, sizes, speeds, max_size?, setup_s?, count?}.", **INPUT),
]
Method = Annotated[
    str,
    typer.Option(
        help="equal, proportional, functional, discontinuous, banded or grid2d.",
        autocompletion=offered("equal", "proportional", "functional", "discontinuous", "banded", "grid2d"),
    ),
]
At = Annotated[
    str | None,
    typer.Option(help="Size of the one benchmark, or peak; by default the smallest."),
    only_with("method", "proportional"),
]
Objective = Annotated[
    str | None,
    typer.Option(help="Mean (the default), cvar, worst or regret."),
    only_with("method", "banded"),
]
Correlation = Annotated[
    float | None,
    typer.Option(help="Of the PEs' places in their bands, from 0 to below 1."),
    only_with("method", "banded"),
    Only((_DRAWN,), _drawing, why="which draws nothing"),
]
Matrix = Annotated[
    str | None,
    typer.Option(metavar="ROWSxCOLUMNS", help="The matrix whose elements are the units."),
    only_with("method", "grid2d"),
]
SeedOption = Annotated[
    Seed,
    only_with("method", "banded"),
    Only(("with --objective mean, cvar or worst",), _drawing, why="which draws nothing"),
]
Output = Annotated[
    Path | None, file("PARTITION", "the partition, as its name ends: .csv, .json, or .dist for FuPerMod")
]


def partition(  # noqa: PLR0913, PLR0917 - one per option
    speeds: Speeds,
    units: Annotated[int, typer.Option(help="How many units of work there are.")],
    method: Method = "functional",
    at: At = None,
    objective: Objective = None,
    correlation: Correlation = None,
    matrix: Matrix = None,
    seed: SeedOption = 0,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Divide units so that the PE that ends last ends as early as possible, and say how good that is.

    Sizes are in units, speeds in units per second. Example:

    apportion partition --speeds scenarios/tutorial/speeds.json --units 100000 -o partition.csv
    """
    from advisor.advise.export.layout import check_hosts
    from advisor.advise.partition import partition as divide
    from advisor.advise.partition import partition_document, partition_options, read_speeds
    from advisor.report.models import partition_page

    given = {"at": at, "objective": objective, "correlation": correlation, "matrix": matrix}
    options = partition_options(method, given, seed=seed)
    read = read_speeds(speeds)
    if output is not None and output.suffix == ".dist":
        check_hosts(read.pes.names, f"{speeds}: a .dist file names its devices by host")
    found = divide(units, read, method, **options)
    document = partition_document(found, read, seed=options.get("seed"))
    write = None if output is None else partial(_write, output, document)
    written = {} if output is None else {"Written": str(output)}
    finish(document, partition_page(document), as_json=as_json, write=write, said=written)


def _write(output: Path, document: dict[str, Any]) -> None:
    """In the form that the name's end says."""
    from advisor.advise.export import fupermod_dist
    from advisor.advise.partition import partition_csv

    if output.suffix == ".json":
        files.write_json(output, document)
    elif output.suffix == ".dist":
        parts = list(zip(document["names"], document["units"], strict=True))
        files.write_text(output, fupermod_dist(parts))
    else:
        files.write_text(output, partition_csv(document))
