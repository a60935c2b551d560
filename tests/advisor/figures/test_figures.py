"""`apportion plot`: every kind of result, whole text and embedded fonts in the PDF, and what is refused."""

import json
import re
import shutil
import subprocess

import pytest

from advisor.figures import draw, drawable, plot, read_length
from advisor.verification.check import Verified
from simulator import ScenarioError, calibration, shipped
from tests.support.command_line import ROOT, apportion_here
from tests.support.jobs_documents import advised, compared, difference
from tests.support.made import whole
from tests.support.report_sample import cluster_document, sample_document, verified_document

MODELS = ROOT / "tests" / "good_inputs" / "scenarios" / "files"
LOG = "; MaxProcs: 2\n" + "".join(
    f"{job} {60 * job} 0 {90 * job} 1 -1 -1 1 3600 -1 1 1 1 1 1 1 -1 -1\n" for job in range(1, 9)
)
DOCUMENTS = {"cluster": cluster_document(), "verification": verified_document(), "result": sample_document()}
DOCUMENTS |= {"advice": advised(), "comparison": compared()}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A file or folder of every kind."""
    folder = tmp_path_factory.mktemp("results")
    found = {f"{name}.json": MODELS / f"{name}.json" for name in ("memory", "network", "run", "speed")}
    found["trace"] = shipped.path_of("traces/two-core-vm.csv")
    for name, document in DOCUMENTS.items():
        place = folder / name
        place.mkdir()
        (place / f"{name}.json").write_text(json.dumps(document))
        found[f"folder of {name}.json"] = place
    found["simulate"] = written(folder, "simulate three-pes --replications 6")
    return found


def written(folder, words):
    """The folder of results of a command."""
    (folder / "log.swf").write_text(LOG)
    place = folder / words.split()[0]
    done = apportion_here(*words.split(), "-o", place, cwd=folder)
    assert done.returncode == 0, done.stderr
    return place


KINDS = ["memory.json", "network.json", "run.json", "speed.json", "trace", "simulate"]
KINDS += [f"folder of {name}.json" for name in DOCUMENTS]
QUICK = {"memory.json", "simulate", "folder of advice.json"}
"""Of a model, of runs, of what commands tell: the others have their text and fonts from the same writer."""
LONGER = {
    "jobs": "jobs run log.swf",
    "whatif": "whatif three-pes --as-is --vary platform.link.bandwidth=x1,x2 --replications 4 --workers 1",
    "advise": "advise two-cores --replications 6 --runs 60 --vary partition",
}
"""Commands that take seconds to write their results."""


def words_of(page):
    """Every word of a page and its box, as poppler reads them."""
    shape = re.search(r'<page width="([\d.]+)" height="([\d.]+)"', page)
    boxes = re.findall(r'xMin="(-?[\d.]+)" yMin="(-?[\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">(.*?)</word>', page)
    return [float(side) for side in shape.groups()], [([float(x) for x in box[:4]], box[4]) for box in boxes]


def test_a_fitted_allocation_is_drawn(tmp_path):
    fit = calibration.fit_allocation_table(shipped.path_of("scenarios/tutorial/allocation-runs.csv"))
    calibration.save_allocation_fit(fit, tmp_path / "allocation.json")
    drawn_whole(tmp_path / "allocation.json", tmp_path)


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in (*KINDS, *LONGER)]
)
def test_every_kind_of_every_result_has_whole_text_and_embedded_fonts(name, results, tmp_path):
    drawn_whole(written(tmp_path, LONGER[name]) if name in LONGER else results[name], tmp_path)


def drawn_whole(result, tmp_path):
    """Each figure of a result, its fonts and the places of its words."""
    found = drawable(result)
    assert found.kinds
    for number, kind in enumerate(found.kinds):
        path = tmp_path / f"{number}.pdf"
        draw(result, path, kind=kind, width_in=3.4, height_in=None)
        data = path.read_bytes()
        assert b"/FontFile2" in data, kind  # TrueType, embedded
        assert b"/Type3" not in data, kind
        assert b"CreationDate" not in data, kind
        if shutil.which("pdffonts") is None or shutil.which("pdftotext") is None:
            continue
        listed = subprocess.run(["pdffonts", path], capture_output=True, text=True, check=True).stdout.splitlines()[2:]
        assert listed, kind
        assert all(line.split()[-5] == "yes" for line in listed), kind
        page = subprocess.run(["pdftotext", "-bbox", path, "-"], capture_output=True, text=True, check=True).stdout
        (width, height), words = words_of(page)
        assert width == pytest.approx(3.4 * 72)
        assert words, kind
        for (left, top, right, bottom), word in words:
            assert left >= -0.5, (kind, word)
            assert top >= -2, (kind, word)  # boxes of words hold the line's whole height
            assert right <= width + 0.5, (kind, word)
            assert bottom <= height + 2, (kind, word)


def test_the_command_says_what_it_drew_and_what_else_there_is(results, tmp_path):
    done = apportion_here("plot", results["folder of result.json"], "-o", tmp_path / "f.svg", "--width", "86mm")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("verification of quickstart drawn in ")
    assert "; also --kind " in done.stdout
    text = (tmp_path / "f.svg").read_text()
    assert "<text" not in text  # paths: an SVG has no fonts of its own
    assert float(re.search(r'width="([\d.]+)pt"', text)[1]) == pytest.approx(86 / 25.4 * 72, abs=0.1)


def test_one_function_draws_results_and_models():
    verified = whole(Verified, verified_document())
    assert plot(verified).get_xlabel() == "makespan in s"
    assert plot(calibration.load_speed_model(MODELS / "speed.json").model).get_xlabel() == "problem size in elements"
    with pytest.raises(ScenarioError, match="nothing draws str"):
        plot("advice")


def test_lengths_have_units():
    assert read_length("3.4in", "--width") == pytest.approx(3.4)
    assert read_length("254mm", "--width") == pytest.approx(10)
    assert read_length("144pt", "--width") == pytest.approx(2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("{r} -o f.pdf --width 3.4", "'3.4' is no length; write one such as 3.4in, 86mm or 8.6cm"),
        ("{r} -o f.pdf --width 0in", "give 1in to 40in"),
        ("{r} -o f.gif", "name a file that ends in png, svg, pdf"),
        ("{r} -o f.pdf --kind pie", "--kind is 'pie'; a result of simulate is drawn as makespans"),
        ("list.json -o f.pdf", "this is no result of simulate"),
        (". -o f.pdf", "name a results folder"),
    ],
)
def test_bad_plots_get_one_line(results, tmp_path, words, said):
    (tmp_path / "list.json").write_text("[1]")
    done = apportion_here("plot", *words.format(r=results["simulate"]).split(), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.glob("f.*"))


def test_a_result_without_intervals_says_what_to_do(tmp_path):
    lacking = compared() | {"differences": [difference("sjf", -2.0)]}
    (tmp_path / "comparison.json").write_text(json.dumps(lacking))
    with pytest.raises(ScenarioError, match="take more replications"):
        drawable(tmp_path)
