"""Figures: one value that is drawn on a page, in a notebook, in a file for a paper or on given axes, and its style."""

import contextlib
import html
import io
import math
import re
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from simulator.base import files
from simulator.base.errors import ScenarioError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Panel = Callable[[Any], None]
"""What draws on axes of matplotlib."""

LINES: Final = ("-", "--", ":", "-.")
"""Patterns of lines that follow each other."""
INK: Final = "#000001"
PAPER: Final = "#fffffe"
_STAND_INS: Final = ("#0a0001", "#0a0002", "#0a0003", "#0a0004", "#0a0005", "#0a0006")
"""Series of a page: `_VARIABLES` replaces them in the finished text."""
_FALLBACKS: Final = ("#0072b2", "#c44e00", "#00795c", "#a6467f", "#806600", "#4d4d4d")
_VARIABLES: Final = {INK: "currentColor", PAPER: "var(--ap-paper, #ffffff)"} | {
    colour: f"var(--ap-{index}, {fallback})"
    for index, (colour, fallback) in enumerate(zip(_STAND_INS, _FALLBACKS, strict=True), start=1)
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
FORMATS: Final = ("png", "svg", "pdf")
COLUMN_IN: Final = 3.4
"""Width of a column of most journals and proceedings."""
_ON_PAPER: Final = ("#004488", "#dd8a1d", "#bb5566", "#5a9bd4", "#7d6608", "#4d4d4d")
"""Dark, light, middle, light ...: told apart without colours, and by those who see fewer."""
_SMALLER: Final = 0.62
"""Lines and marks, which have the sizes of a page's figures, in one of a column's width."""
_SIZE_PT: Final = 7.5
_PRINTED: Final[Any] = _STYLE | {
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same everywhere, and always embedded
    "font.size": _SIZE_PT,
    "axes.titlesize": _SIZE_PT,
    "axes.labelsize": _SIZE_PT,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.5,
    "figure.constrained_layout.h_pad": 0.02,
    "figure.constrained_layout.w_pad": 0.02,
    "pdf.fonttype": 42,  # TrueType, embedded: text stays text, and publishers take it
    "svg.fonttype": "path",  # an SVG cannot embed its font, and another one would not fit
    "savefig.dpi": 300,
}
_TIMES: Final = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"))
_FEW_POWERS: Final = 60.0
"""Between the ends of an axis, up to which 2 and 5 have names too."""
_PREFIXES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


@dataclass(frozen=True)
class Drawing:
    """A figure that is drawn when it is shown; false where there is nothing to draw."""

    kind: str
    """Which figure of a result it is: `makespans`."""
    title: str
    panels: Mapping[str, Panel]
    """By name, from the top; on one pair of axes the last one is drawn."""
    description: str = ""
    """What it shows, for a screen reader."""
    heights_in: tuple[float, float] = (3.0, 2.2)
    """On a page, and in a column of a paper."""
    shared: bool = True
    """Whether all panels have the same axis below."""

    def __bool__(self) -> bool:
        return bool(self.panels)

    def svg(self, name: str = "") -> str:
        """An inline element of a page, with variables for colours and ids under `name`; empty for nothing."""
        if not self:
            return ""
        with _styled(_STYLE, _STAND_INS):
            from matplotlib.figure import Figure

            figure = Figure(figsize=(_WIDTH_IN, self.heights_in[0]), layout="constrained")
            grid = figure.subplots(len(self.panels), 1, sharex=self.shared, squeeze=False)[:, 0]
            for axes, draw in zip(grid, self.panels.values(), strict=True):
                draw(axes)
                _plain_powers(axes)
                if self.shared:
                    axes.label_outer()
            _key(figure, grid)
            return self._element(figure, name)

    def _element(self, figure: "Figure", name: str) -> str:
        """No file header, metadata or global style."""
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
        text = buffer.getvalue()
        name = name or f"{self.kind.replace(':', '-')}-{zlib.crc32(text.encode()):x}"
        text = re.sub(r"<metadata>.*?</metadata>|<style .*?</style>", "", text, flags=re.DOTALL)
        shape = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
        width, height = shape.groups() if shape else ("440", "300")
        body = text[text.index(">", text.index("<svg")) + 1 : text.rindex("</svg>")]
        body = re.sub(r"<[^>]*>", lambda tag: _own(tag[0], name=name), body)
        body = re.sub(r"\s*\n\s*", "\n", body)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" class="figure" '
            f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
            f'style="max-width:100%;height:auto" '
            f'aria-labelledby="{name}-title {name}-desc" stroke-linejoin="round" stroke-linecap="butt">'
            f'<title id="{name}-title">{html.escape(self.title)}</title>'
            f'<desc id="{name}-desc">{html.escape(self.description)}</desc>{body}</svg>'
        )

    def axes(
        self,
        ax: "Axes | None" = None,
        *,
        width_in: float = COLUMN_IN,
        height_in: float | None = None,
        panel: str | None = None,
    ) -> "Axes":
        """Draw one panel in the style of papers.

        `ax`: drawn on in the style that it was made in; axes of a new figure by default.
        `width_in`, `height_in`: of the new figure; its own height by default.
        `panel`: its name; the last one by default.
        """
        draw = list(self.panels.values())[-1] if panel is None else self.panels[panel]
        if ax is not None:
            from matplotlib import rc_context, rcsetup

            with rc_context({"axes.prop_cycle": rcsetup.cycler(color=list(_ON_PAPER))}):
                draw(ax)
                _plain_powers(ax)
                _key(None, [ax])
            return ax
        return self._printed([draw], width_in, height_in)[0]

    def save(
        self, path: Path, *, width_in: float = 2 * COLUMN_IN, height_in: float | None = None, panel: str | None = None
    ) -> None:
        """Write a file for a paper, of all panels by default.

        Raises ScenarioError if the ending of its name is none of `FORMATS`.
        """
        kind = figure_kind(path)
        shown = list(self.panels.values()) if panel is None else [self.panels[panel]]
        figure: Any = self._printed(shown, width_in, height_in)[0].figure
        with _styled(_PRINTED, _ON_PAPER):
            _write(figure, path, kind)

    def _printed(self, panels: Sequence[Panel], width_in: float, height_in: float | None) -> "Sequence[Axes]":
        """Axes of a new figure in the style of papers, one below the other."""
        with _styled(_PRINTED, _ON_PAPER):
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure

            height = height_in or self.heights_in[1] * len(panels)
            figure = Figure(figsize=(width_in, height), layout="constrained")
            FigureCanvasAgg(figure)
            grid: Any = figure.subplots(len(panels), 1, sharex=self.shared, squeeze=False)[:, 0]
            for axes, draw in zip(grid, panels, strict=True):
                draw(axes)
                _plain_powers(axes)
                _fit_column(axes)
                if self.shared:
                    axes.label_outer()
            if len(panels) > 1:
                figure.suptitle(self.title, fontsize=_SIZE_PT)
            _key(figure, grid)
        return tuple(grid)


NOTHING: Final = Drawing("", "", {})
"""A figure of nothing."""


@contextlib.contextmanager
def _styled(style: Any, colours: Sequence[str]) -> Iterator[None]:
    """A style and its colours; the caller's settings of matplotlib are neither used nor changed."""
    import matplotlib
    from matplotlib import rcsetup

    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="constrained_layout not applied", category=UserWarning)
        warnings.filterwarnings("ignore", message=r"Glyph .* missing", category=UserWarning)  # the reader's font has it
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(style)
        matplotlib.rcParams["axes.prop_cycle"] = rcsetup.cycler(color=list(colours))
        yield


def series(place: int) -> str:
    """The colour of a series in the style that is drawn in."""
    import matplotlib

    colours = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]
    return str(colours[place % len(colours)])


def _own(tag: str, *, name: str) -> str:
    """One tag of matplotlib's with our ids, colours and font; a group keeps no id."""
    if re.fullmatch(r'<g id="[^"]*">', tag):
        return "<g>"
    tag = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", tag)
    tag = re.sub(r"font-family: [^;\"]*", "font-family: var(--ap-font, sans-serif)", tag)
    return re.sub(r"#[0-9a-f]{6}\b", lambda colour: _VARIABLES.get(colour[0], colour[0]), tag)


def label(value: object, *, most: int = 24) -> str:
    """A name from outside as one short line that any SVG may hold, cut in its middle: names differ at their ends."""
    text = "".join(character if character.isprintable() else " " for character in str(value)).strip()
    return text if len(text) <= most else f"{text[: most // 3]}…{text[most // 3 + 1 - most :]}"


def number(value: object) -> float | None:
    """The value if it is a finite number."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def time_unit(seconds: float) -> tuple[float, str]:
    """A unit of time in which so many seconds are a number of one to three digits."""
    return next(((size, word) for size, word in _TIMES if seconds >= 3 * size), (1.0, "s"))


def name_rows(axes: "Axes", rows: Sequence[str], *, below: str, ends: tuple[float, float]) -> None:
    """What axes with a row per name have at the end: names (or none) at the left, what is below, lines.

    `ends`: the lower and the upper end of the axis of rows.
    """
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(axis="y", length=0)
    if not rows:
        axes.spines["left"].set_visible(False)
    axes.set_ylim(*ends)
    axes.set_xlabel(below)
    axes.grid(axis="x")


def head_of_row(axes: "Axes", row: int, text: str) -> None:
    """What a row is of, above what is drawn in it."""
    axes.text(
        *(0.0, row - 0.42, text),
        transform=axes.get_yaxis_transform(),
        va="center",
        bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5},
    )


def figure_kind(path: Path) -> str:
    """The format that a file's ending asks for.

    Raises ScenarioError if it is none of `FORMATS`.
    """
    kind = path.suffix.lstrip(".").lower()
    if kind not in FORMATS:
        raise ScenarioError(f"{path} ends in {path.suffix!r}; name a file that ends in {', '.join(FORMATS)}")
    return kind


def _write(figure: "Figure", path: Path, kind: str) -> None:
    """Whole or not at all; the same figure gives the same bytes."""
    out, undated = io.BytesIO(), {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    figure.savefig(out, format=kind, metadata=undated.get(kind))
    files.write_bytes(path, out.getvalue())


def _plain_powers(axes: "Axes") -> None:
    """Powers of ten as plain text."""
    from matplotlib.ticker import LogFormatter, LogLocator, NullFormatter

    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() != "log":
            continue
        low, high = axis.get_view_interval()
        if high < _FEW_POWERS * low:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        if isinstance(axis.get_major_formatter(), LogFormatter):
            axis.set_major_formatter(lambda value, _: _power(value))
        axis.set_minor_formatter(NullFormatter())


def _power(value: float) -> str:
    """`100`, `10k`, `1M`; `0.001`, `1e-05`."""
    scale, prefix = next((one for one in _PREFIXES if value >= one[0] and value >= 1e4), (1.0, ""))
    return f"{value / scale:g}{prefix}"


def _fit_column(axes: "Axes") -> None:
    """Lines, marks and texts that have a page's sizes, in those of a column's width."""
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    parts = axes.get_children()
    for line in (part for part in parts if isinstance(part, Line2D)):
        line.set_linewidth(max(0.5, _SMALLER * line.get_linewidth()))
        line.set_markersize(_SMALLER * line.get_markersize())
        line.set_markeredgewidth(0.7)
    for text in (part for part in parts if isinstance(part, Text)):
        text.set_fontsize(min(max(7.0, float(text.get_fontsize())), _SIZE_PT))


def _key(figure: "Figure | None", grid: Iterable["Axes"]) -> None:
    """A legend above all axes, each label once, in as many columns as fit; on the caller's axes, upon those."""
    grid = list(grid)
    found = [axes.get_legend_handles_labels() for axes in grid]
    once = {text: handle for handles, labels in found for text, handle in zip(labels, handles, strict=True)}
    if not once:
        return
    import matplotlib

    size = float(matplotlib.rcParams["legend.fontsize"]) if figure is not None else _SIZE_PT
    own: Any = figure or grid[0].figure
    room = 72 * float(own.get_figwidth()) / size
    columns = max(1, min(len(once), int(room / (4.9 + 0.62 * max(map(len, once))))))
    close: Any = {"ncols": columns, "handletextpad": 0.5, "columnspacing": 1.0, "handlelength": 1.8, "borderpad": 0.2}
    if figure is not None:
        figure.legend(list(once.values()), list(once), loc="outside upper left", **close)
    else:
        anchor: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
        grid[0].legend(list(once.values()), list(once), **anchor, **close)
