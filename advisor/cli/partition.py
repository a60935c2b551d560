"""What `advise` does with a speeds file: units divided among PEs whose speed functions are known."""

from functools import partial
from pathlib import Path
from typing import Any

from advisor.cli.outputs import finish
from simulator import files


def partition(
    speeds: Path, units: int, method: str, given: dict[str, Any], *, seed: int, output: Path | None, as_json: bool
) -> None:
    """Divide units so that the PE that ends last ends as early as possible, and say how good that is."""
    from advisor.advise.export.layout import check_hosts
    from advisor.advise.partition import partition as divide
    from advisor.advise.partition import partition_document, partition_options, read_speeds
    from advisor.report.models import partition_page

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
