"""What a what-if asked: the base, the fields with their values, replications and seed; and points without an answer."""

from advisor.report import whatif_words as words
from advisor.report.page import Section, Text, pairs, table
from advisor.wording import Document, clean, counted

MOST_NAMED = 3
"""Points that are named with a reason."""
QUESTIONS = {
    "simulated": "the scenario's own configurations, simulated",
    "advised": "the configuration recommended at each point, and the equal split",
}


def section(document: Document) -> Section:
    """The question."""
    grid, points = document["grid"], document["points"]
    side = any(len(field["paths"]) > 1 for field in grid["fields"])
    names = list(dict.fromkeys(one["name"] for entry in points for one in entry["configurations"]))
    facts = {
        "Scenario": clean(document["scenario"]),
        "At each point": QUESTIONS.get(document["question"], clean(document["question"])),
        "Configurations": ", ".join(clean(name) for name in names),
    }
    facts |= {clean(field["name"]): words.values_of(field) for field in grid["fields"]}
    facts |= {
        "Points": f"{len(points)} with the base"
        + (", values side by side" if side else ", all combinations" if len(grid["fields"]) > 1 else ""),
        "Replications": f"{document['replications']}, paired: the same draws at every point",
        "Seed": str(document["seed"]),
    }
    return Section("asked", "What was asked", (pairs(facts),))


def failed_section(document: Document) -> Section | None:
    """Points that have no answer, each with its reason."""
    lost = [entry for entry in document["points"] if entry["error"]]
    if not lost:
        return None
    rows = [
        [why, str(len(entries)), "; ".join(words.named(document, entry) for entry in entries[:MOST_NAMED])]
        for why, entries in words.failures(document)
    ]
    said = (
        f"{counted(len(lost), 'point')} of {len(document['points'])} without an answer; this does not touch the others."
    )
    found = table("Points that failed", ["reason", "points", "changes"], rows, text_columns=3)
    return Section("failed", "What failed", (Text(said), found))


def provenance_section(document: Document) -> Section:
    """What it rests on; times and dates are in the manifest, so that a resumed run writes the same page."""
    origin = document["provenance"]
    facts = {f"Version of {clean(name)}": clean(value) for name, value in origin["versions"].items()}
    facts |= {f"Hash of {clean(name)}": clean(value) for name, value in origin["inputs"].items()}
    said = (
        "When it was made, and how long it took, is in manifest.json beside this page: the page itself holds no time, "
        "so that a run that was interrupted and resumed writes it to the byte."
    )
    return Section("provenance", "Provenance", (Text(said, quiet=True), pairs(facts)))
