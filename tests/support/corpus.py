"""Expected lines that lie in files: one way to read them, to compare, and, under `--accept`, to write them.

A case says what standard error must say, in one of three places: a file `NAME.expected` beside it; the head of a
`.case` file, after `$ OPTIONS`, up to `---`; or comments `# error: ` at the top of the file itself. Words in capitals
stand for what differs from run to run (FILE, FOLDER). Read every changed line of the diff after `--accept`.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

BESIDE, MARK, END = ".expected", "# error: ", "---\n"
Ending = tuple[int, str, list[str]]
"""Exit code, standard output, and lines of standard error."""


def cases(folder: Path) -> list[Path]:
    """The cases of a folder, in order; only those that are `.case` where there are such."""
    found = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix != BESIDE)
    return [path for path in found if path.suffix == ".case"] or found


def _is_case(path: Path) -> bool:
    return path.suffix == ".case"


def parts(path: Path) -> tuple[str, str]:
    """Options and body of a `.case` file."""
    head, _, body = path.read_text(encoding="utf-8").partition(END)
    return head.splitlines()[0].removeprefix("$ "), body


def marked(path: Path, word: str) -> list[str]:
    """What lines `# WORD: ` of a file say, or lines `WORD: ` of the file beside it."""
    beside = path.with_name(path.name + BESIDE)
    head = f"{word}: " if beside.exists() else f"# {word}: "
    lines = (beside if beside.exists() else path).read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(head) for line in lines if line.startswith(head)]


def expected(path: Path) -> list[str]:
    """The lines that a case expects on standard error, words in capitals as they stand."""
    if _is_case(path):
        return path.read_text(encoding="utf-8").partition(END)[0].splitlines()[1:]
    return [f"error: {line}" for line in marked(path, "error")]


def _write(path: Path, lines: list[str]) -> None:
    """Put other expected lines in the place of those that are there."""
    if _is_case(path):
        head, mark, body = path.read_text(encoding="utf-8").partition(END)
        path.write_text("\n".join([head.splitlines()[0], *lines, ""]) + mark + body, encoding="utf-8")
        return
    assert all(line.startswith("error: ") for line in lines), lines
    beside = path.with_name(path.name + BESIDE)
    head, file = ("error: ", beside) if beside.exists() else (MARK, path)
    before = file.read_text(encoding="utf-8").splitlines(keepends=True)
    at = next((number for number, line in enumerate(before) if line.startswith(head)), 0)
    kept = [line for line in before if not line.startswith(head)]
    new = [f"{head}{line.removeprefix('error: ')}\n" for line in lines]
    file.write_text("".join([*kept[:at], *new, *kept[at:]]), encoding="utf-8")


class Corpus:
    """Compares what commands say with what files expect; accepts it where that was asked for."""

    def __init__(self, *, accept: bool) -> None:
        self.accept = accept

    def refused(self, path: Path, run: Callable[[], Ending], names: Mapping[str, object]) -> None:
        """A command must end with exit code 2, nothing on standard output, and the lines of its case, at least one.

        It runs again after lines were accepted: lines in the file itself move those below, which messages name.
        """
        for _ in range(3 if self.accept else 1):
            code, out, lines = run()
            assert (code, out) == (2, ""), lines
            if self.compare(path, lines, names):
                return
        raise AssertionError(f"{path}: what is said changes with what is expected")

    def compare(self, path: Path, lines: Iterable[str], names: Mapping[str, object]) -> bool:
        """Whether a case expects these lines; where not, they are accepted or the test fails."""
        lines, raw = list(lines), expected(path)
        assert lines
        assert "Traceback" not in "".join(lines)
        if [_named(line, names) for line in raw] == lines:
            return True
        if not self.accept:
            assert lines == [_named(line, names) for line in raw]
        used = {name: value for name, value in names.items() if "/" in str(value) or any(name in line for line in raw)}
        longest_first = dict(sorted(used.items(), key=lambda item: -len(str(item[1]))))
        for name, value in longest_first.items():
            lines = [line.replace(str(value), name) for line in lines]
        _write(path, lines)
        return False

    def text(self, path: Path, shown: str, said: str) -> None:
        """A file that shows this text must show that one: golden files, and what tutorials print."""
        if said == shown:
            return
        assert self.accept, f"{path} shows\n{shown}\nwhere it is\n{said}"
        before = path.read_text(encoding="utf-8") if path.exists() else shown
        assert before.count(shown) == 1 or before == shown, f"{path} shows this more than once:\n{shown}"
        path.write_text(said if before == shown else before.replace(shown, said), encoding="utf-8")


def _named(line: str, names: Mapping[str, object]) -> str:
    for name, value in names.items():
        line = line.replace(name, str(value))
    return line
