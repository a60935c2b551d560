"""Where a result comes from: versions, hashes of inputs, time taken, paths."""

from advisor import wording
from advisor.report.page import Folded, Listing, Pairs, Section
from advisor.wording import Document, clean


def section(document: Document) -> Section:
    """Everything needed to do it again."""
    blocks = [Folded("Versions, inputs, time taken, paths", (_facts(document),))]
    if document.get("scenario_text"):
        blocks.append(
            Folded(
                "The scenario, every default written out, long lists shortened",
                (Listing(str(document["scenario_text"])),),
            )
        )
    return Section("provenance", "Provenance", tuple(blocks))


def _facts(document: Document) -> Pairs:
    origin = document.get("provenance") or {}
    found = [("Made", clean(origin.get("made") or wording.NOTHING)), ("Seed", clean(document.get("seed")))]
    found += [(f"Version of {clean(name)}", clean(value)) for name, value in (origin.get("versions") or {}).items()]
    found += [(f"Hash of {clean(name)}", clean(value)) for name, value in (origin.get("inputs") or {}).items()]
    if document.get("seconds") is not None:
        found.append(("Time taken", wording.took_text(document)))
    paths = [(name, document.get(key)) for name, key in (("Scenario", "scenario"), ("This report", "report"))]
    return Pairs((*found, *((name, clean(path)) for name, path in paths if path)))
