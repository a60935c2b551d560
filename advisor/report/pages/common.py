"""What the pages of all commands take from their documents in the same way."""

from typing import Any

from advisor import wording
from advisor.wording import Document, clean, number


def head(document: Document) -> dict[str, Any]:
    """Command, date and warnings, as `Page` wants them."""
    return {
        "command": clean(document.get("command") or "run"),
        "made": clean((document.get("provenance") or {}).get("made") or ""),
        "warnings": tuple(clean(warning) for warning in document.get("warnings") or ()),
    }


def drawn(document: Document) -> str:
    """Replications and seed."""
    counted = wording.counted(document.get("replications"), "replication")
    parts = [counted] if number(document.get("replications")) is not None else []
    parts += [f"seed {document['seed']}"] if number(document.get("seed")) is not None else []
    return ", ".join(parts)
