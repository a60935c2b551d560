"""The report as one HTML file: no network, no external font, light and dark, for paper, phones and screen readers."""

import base64
import functools
import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from advisor import wording
from advisor.report.text import on_page
from simulator import blocks, plots

if TYPE_CHECKING:
    from jinja2 import Environment

_UNSAFE = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
"""What could end a script element, as JSON may also write it."""


def render_page(page: blocks.Page) -> str:
    """Write a page as one self-contained file."""
    environment = _environment()
    names = list(dict.fromkeys(one.name for one in on_page(page) if isinstance(one, blocks.Widget)))
    known = set(environment.list_templates())
    scripts = [_text("report.js"), *(_text(f"widgets/{name}.js") for name in names)]
    styles = [
        _text("report.css"),
        *(_text(f"widgets/{name}.css") for name in names if f"widgets/{name}.css" in known),
    ]
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    return environment.get_template("page.html").render(page=page, scripts=scripts, hashes=hashes, styles=styles)


@functools.cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import escape

    environment = Environment(
        loader=PackageLoader("advisor.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["typeset"] = _typeset
    environment.filters["also"] = _also
    environment.filters["kind"] = lambda block: type(block).__name__
    environment.filters["as_json"] = _as_json
    environment.filters["as_it_is"] = escape
    environment.filters["drawn"] = _drawn
    return environment


@functools.cache
def _text(name: str) -> Any:
    """A script or style as it is: it comes with the program and holds nothing from outside."""
    from markupsafe import Markup

    environment = _environment()
    if environment.loader is None:
        raise ValueError("no templates")
    return Markup(environment.loader.get_source(environment, name)[0])  # noqa: S704


def _printable(value: Any) -> Any:
    """Texts without what does not print; markup and numbers as they are."""
    return blocks.plain(value) if type(value) is str else value


def _typeset(text: str) -> str:
    """Plain text with the signs that a page has and a terminal may not."""
    return "–" if text == wording.NOTHING else text.replace("+/-", "±")


def _also(others: Sequence[blocks.Command]) -> str:
    """What further lines are for: the words before a comma of each, once."""
    return ", ".join(dict.fromkeys(one.label.partition(",")[0] for one in others))


def _as_json(data: Any) -> Any:
    """JSON that no text in it can break out of."""
    from markupsafe import Markup

    compact = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return Markup(compact.translate(_UNSAFE))  # noqa: S704


def _drawn(drawing: plots.Drawing | str, name: str) -> Any:
    """The one part of the page that is not escaped again: drawings escape every text in them."""
    from markupsafe import Markup

    return Markup(drawing if isinstance(drawing, str) else drawing.svg(name))  # noqa: S704
