"""Every error a user can cause, each as lines that say where, what is wrong and what to do."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice

_MOST_NAMES = 10_000
SHOWN = 4
"""Most names of a list in a line."""
_LONGEST = 1500
"""Most letters of a line."""
MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What reading fields of a document raises where it does not have the form that its readers rely on."""


def on_one_line(text: str) -> str:
    """A text with characters that end a line, or cannot be shown, as Python writes them; without the middle if long."""
    text = _shortened(text)
    if text.isprintable():
        return text
    return _shortened("".join(c if c.isprintable() else repr(c)[1:-1] for c in text))


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST * 3 // 4]} ... {text[-_LONGEST // 5 :]}"


def meant(found: object, names: Iterable[str]) -> str:
    """The name most like what was found, as the end of a line `...; did you mean NAME?`; empty if none is like it."""
    known = {name.lower(): name for name in islice(names, _MOST_NAMES)}
    close = get_close_matches(str(found)[:100].lower(), list(known), n=1)
    return f"; did you mean {known[close[0]]}?" if close else ""


def some_names(names: Sequence[str]) -> str:
    """Up to a few names, and how many there are."""
    listed = ", ".join(names[:SHOWN])
    return listed if len(names) <= SHOWN else f"{listed}, ... ({len(names)} in all)"


def reason(error: OSError | ValueError) -> str:
    """Why the system refused something, in words."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def shortage(error: BaseException) -> str | None:
    """What this process has too little of, as a line; None if an error says nothing of the kind."""
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{reason(error)}"
    text = str(error).lower()
    short = ("cannot allocate memory", "failed to map segment")  # of the loader, in an ImportError
    if isinstance(error, MemoryError) or any(said in text for said in short):
        return "not enough memory here; give it more, or ask for less"
    return "no more threads can be started here (ulimit -u)" if "can't start new thread" in text else None


class ApportionError(Exception):
    """Something the user can mend; the command line prints one `error:` line per entry and exits with `exit_code`.

    `lines`: one text, or one per fault, in the form `FILE: FIELD: what is wrong; what to do`.
    """

    exit_code = 2

    def __init__(self, lines: str | Sequence[str]) -> None:
        self.lines = tuple(on_one_line(line) for line in ([lines] if isinstance(lines, str) else lines))
        super().__init__("; ".join(self.lines))

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows, in place of where the error came from: IPython asks for this."""
        return [f"{type(self).__name__}: {line}" for line in self.lines]


class ScenarioError(ApportionError):
    """A scenario, an option or a value in it that cannot be used."""


class TraceError(ApportionError):
    """A load trace that cannot be read, or a question that it cannot answer."""


class FormulaError(ApportionError):
    """A cost formula outside the allowed language."""


class CalibrationError(ApportionError):
    """A real run that failed or fell short; what was measured before is kept."""

    exit_code = 1


class UnsupportedProgram(ApportionError):  # noqa: N818 - the vocabulary's word
    """A program that the chosen engine does not interpret, with the reason."""


class SimulationError(ApportionError):
    """A program that cannot end: a deadlock or a PE that stands still for ever, by name."""

    exit_code = 1


class WriteError(ApportionError):
    """What was computed cannot be written; the line says where it is kept instead."""

    exit_code = 1


class SweepError(ApportionError):
    """A sweep that lost its cluster; the points that were finished are kept."""

    exit_code = 1


class Interrupted(ApportionError):  # noqa: N818 - no fault, but it ends the command like one
    """The user stopped long work; the line says what was kept."""

    exit_code = 130
