"""What all figures share: style and colours, and the way from matplotlib's SVG file to an element of a page."""

import contextlib
import html
import io
import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simulator.base import files
from simulator.base.errors import ScenarioError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Entry = Mapping[str, Any]
"""A part of a result document: plain data."""

INK: Final = "#000001"
PAPER: Final = "#fffffe"
SERIES: Final = ("#0a0001", "#0a0002", "#0a0003", "#0a0004", "#0a0005", "#0a0006")
"""Stand-ins that matplotlib draws with; `_VARIABLES` replaces them in the finished text."""
_FALLBACKS: Final = ("#0072b2", "#c44e00", "#00795c", "#a6467f", "#806600", "#4d4d4d")
_VARIABLES: Final = {INK: "currentColor", PAPER: "var(--ap-paper, #ffffff)"} | {
    colour: f"var(--ap-{index}, {fallback})"
    for index, (colour, fallback) in enumerate(zip(SERIES, _FALLBACKS, strict=True), start=1)
}

_WIDTH_IN: Final = 440 / 72  # 440 units wide: a phone shows the whole figure and its text stays legible
_STYLE: Final[Any] = {
    "svg.hashsalt": "apportion",
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 11.0,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.unicode_minus": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "grid.alpha": 0.15,
    "legend.frameon": False,
    "legend.fontsize": 10.5,
}


@contextlib.contextmanager
def drawing(*, height_in: float) -> "Iterator[Figure]":
    """A figure in our style; the caller's settings of matplotlib are neither used nor changed."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph .* missing", category=UserWarning)  # the reader's font has it
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")


def svg(figure: "Figure", *, name: str, title: str, description: str, titles: Mapping[str, str] | None = None) -> str:
    """The finished element: no file header, metadata or global style, ids under `name`, colours by variable."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>|<style .*?</style>", "", text, flags=re.DOTALL)
    shape = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    width, height = shape.groups() if shape else ("440", "300")
    body = text[text.index(">", text.index("<svg")) + 1 : text.rindex("</svg>")]
    body = re.sub(r"<[^>]*>", lambda tag: _own(tag[0], name=name, titles=titles or {}), body)
    body = re.sub(r"\s*\n\s*", "\n", body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="figure" '
        f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-labelledby="{name}-title {name}-desc" stroke-linejoin="round" stroke-linecap="butt">'
        f'<title id="{name}-title">{html.escape(title)}</title>'
        f'<desc id="{name}-desc">{html.escape(description)}</desc>{body}</svg>'
    )


def _own(tag: str, *, name: str, titles: Mapping[str, str]) -> str:
    """One tag of matplotlib's with our ids, colours and font; a group keeps no id, but may get a tooltip."""
    if group := re.fullmatch(r'<g id="([^"]*)">', tag):
        return f"<g><title>{html.escape(titles[group[1]])}</title>" if group[1] in titles else "<g>"
    tag = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", tag)
    tag = re.sub(r"font-family: [^;\"]*", "font-family: var(--ap-font, sans-serif)", tag)
    return re.sub(r"#[0-9a-f]{6}\b", lambda colour: _VARIABLES.get(colour[0], colour[0]), tag)


def label(value: object, *, most: int = 24) -> str:
    """A name from outside as one short line that any SVG may hold."""
    text = "".join(character if character.isprintable() else " " for character in str(value)).strip()
    return text if len(text) <= most else text[: most - 1] + "…"


def number(value: object) -> float | None:
    """The value if it is a finite number."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def numbers(values: Iterable[object] | None) -> list[float]:
    """The finite numbers among the values."""
    return [found for value in values or () if (found := number(value)) is not None]


def legend(figure: "Figure", grid: Iterable["Axes"]) -> None:
    """A legend above all axes, each label once."""
    found = [axes.get_legend_handles_labels() for axes in grid]
    once = {text: handle for handles, labels in found for text, handle in zip(labels, handles, strict=True)}
    figure.legend(
        list(once.values()), list(once), loc="outside upper left", ncols=3, handletextpad=0.5, columnspacing=1.3
    )


def finish_rows(figure: "Figure", axes: "Axes", rows: Sequence[str], *, below: str, ends: tuple[float, float]) -> None:
    """What figures with a row per name share at the end: names (or none) at the left, what is below, lines, a legend.

    Parameters
    ----------
    rows
        Names of the rows from the top; none if the rows say what they are themselves.
    ends
        The lower and the upper end of the axis of rows.
    """
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(axis="y", length=0)
    if not rows:
        axes.spines["left"].set_visible(False)
    axes.set_ylim(*ends)
    axes.set_xlabel(below)
    axes.grid(axis="x")
    legend(figure, [axes])


def head_of_row(axes: "Axes", row: int, text: str) -> None:
    """What a row is of, above what is drawn in it."""
    axes.text(
        *(0.0, row - 0.42, text),
        transform=axes.get_yaxis_transform(),
        va="center",
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
    )


FORMATS: Final = ("png", "svg", "pdf")


def figure_kind(path: Path) -> str:
    """The format that a file's ending asks for.

    Raises
    ------
    ScenarioError
        If it is none of `FORMATS`.
    """
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise ScenarioError(f"{path} ends in {path.suffix!r}; name a file that ends in {', '.join(FORMATS)}")
    return kind


def save(figure: "Figure", path: Path, kind: str) -> None:
    """Write a figure, whole or not at all."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    out = io.BytesIO()
    figure.savefig(out, format=kind, metadata={"Date": None} if kind == "svg" else None)
    files.write_bytes(path, out.getvalue())
