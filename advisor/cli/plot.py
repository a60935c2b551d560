"""`apportion plot`: a figure of a result for a paper."""

from pathlib import Path

from advisor.cli.declared import REQUIRED, argument, option
from advisor.cli.inputs import INPUT
from advisor.cli.options import file, gave_json


def plot(
    result: Path = argument(
        "A folder of results, its JSON document, a model (JSON) or a load trace (CSV).", metavar="RESULT", **INPUT
    ),
    output: Path = file("PICTURE", "the figure as .pdf, .svg or .png", default=REQUIRED),
    width: str = option("Such as 3.4in, one column; 7in; 86mm.", default="3.4in", metavar="LENGTH"),
    height: str | None = option("As the figure needs it by default.", metavar="LENGTH"),
    kind: str | None = option("What to draw of it; the line that is printed names all.", metavar="KIND"),
) -> None:
    """Draw a result for a paper: fonts embedded, 7 to 8 pt at the width asked for, told apart in grey.

    Text of a PDF stays text; that of an SVG becomes paths, since another font would not fit. The same result gives
    the same file. Example:

    apportion plot out/advice -o advice.pdf --width 3.4in
    """
    from advisor.figures import draw, read_length, told

    width_in = read_length(width, "--width")
    height_in = None if height is None else read_length(height, "--height")
    found = draw(result, output, kind=kind, width_in=width_in, height_in=height_in)
    if not gave_json({"result": found.what, "kinds": list(found.kinds), "output": str(output)}):
        print(told(found, kind, output))
