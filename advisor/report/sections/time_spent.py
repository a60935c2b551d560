"""Where the time of each process goes, over all replications."""

from advisor import wording
from advisor.report.page import Block, Folded, Section, Text, table
from advisor.wording import Document, clean

MOST_OPEN = 16


def section(document: Document) -> Section:
    """A table per configuration: computing, waiting, done early."""
    blocks: list[Block] = []
    for configuration in document.get("configurations") or ():
        processes = configuration.get("processes") or ()
        rows = [
            [f"{clean(one.get('pe'))}, process {one.get('process')}"]
            + [wording.duration(one.get(key)) for key in ("busy_s", "waiting_s", "idle_s")]
            for one in processes
        ]
        name = clean(configuration.get("name"))
        made = table(f"Where time goes, means: {name}", ["PE", "computing", "waiting", "done, idle"], rows)
        folded = len(rows) > MOST_OPEN or len(document["configurations"]) > 1
        blocks.append(Folded(f"{name}: {len(rows)} processes", (made,)) if folded else made)
    return Section("time", "Where time goes", tuple(blocks) or (Text("Nothing was simulated."),))
