"""Where a result comes from: versions, hashes of inputs, time taken, paths."""

from advisor.report import wording
from advisor.report.page import Folded, Pairs, Section
from advisor.report.wording import Document, clean


def section(document: Document) -> Section:
    """Everything needed to do it again."""
    return Section("provenance", "Provenance", (Folded("Versions, inputs, time taken, paths", (_facts(document),)),))


def _facts(document: Document) -> Pairs:
    origin = document.get("provenance") or {}
    found = [("Made", clean(origin.get("made") or wording.NOTHING)), ("Seed", clean(document.get("seed")))]
    found += [(f"Version of {clean(name)}", clean(value)) for name, value in (origin.get("versions") or {}).items()]
    found += [(f"Hash of {clean(name)}", clean(value)) for name, value in (origin.get("inputs") or {}).items()]
    found.append(("Time taken", wording.took_text(document)))
    paths = [(name, document.get(key)) for name, key in (("Scenario", "scenario"), ("This report", "report"))]
    return Pairs((*found, *((name, clean(path)) for name, path in paths if path)))
