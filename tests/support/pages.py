"""A page as a reader of HTML sees it."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}
HOSTILE = "<script>alert('x')</script>&\"'"


class Page(HTMLParser):
    """Tags in order with their attributes, and the text of every open element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.faults: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.texts.setdefault(tag, []).append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"{tag} closed at {self.getpos()}")

    def handle_data(self, data):
        for tag in set(self.open):
            self.texts[tag][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def words(page: Page, tag: str) -> list[str]:
    return [" ".join(found.split()) for found in page.texts.get(tag, [])]


def hostile(value):
    """The document with every word in it replaced, names that link its parts excepted."""
    if isinstance(value, dict):
        return {key: hostile(part) if key != "operation" else part for key, part in value.items()}
    if isinstance(value, list):
        return [hostile(part) for part in value]
    return value + HOSTILE if isinstance(value, str) and value not in {"", "functional", "fair"} else value
