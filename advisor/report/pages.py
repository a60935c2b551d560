"""The pages: which one shows the document of each command."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from advisor.advise.advice import Advice
from advisor.report.advice import advice_page
from advisor.report.cluster import ClusterResult, cluster_page
from advisor.report.html import render_page
from advisor.report.job_choices import Changes, Comparison, changes_page, comparison_page
from advisor.report.jobs import RanJobs, jobs_page
from advisor.report.papers import Reproduced, papers_page
from advisor.report.quickstart import QuickstartResult, quickstart_page
from advisor.report.simulation import ShownSimulation, Simulation, simulation_page
from advisor.report.verification import verification_page
from advisor.report.whatif import whatif_page
from advisor.verification.check import Verified
from advisor.whatif import Findings
from simulator import blocks, documents

PAGES: Mapping[str, tuple[type, Callable[[Any], blocks.Page]]] = {
    "advise": (Advice, advice_page),
    "cluster": (ClusterResult, cluster_page),
    "jobs advise": (Changes, changes_page),
    "jobs compare": (Comparison, comparison_page),
    "jobs run": (RanJobs, jobs_page),
    "quickstart": (QuickstartResult, quickstart_page),
    "lab reproduce": (Reproduced, papers_page),
    "simulate": (ShownSimulation, simulation_page),
    "verify": (Verified, verification_page),
    "whatif": (Findings, whatif_page),
}
"""By the `command` of a document: what it is read as, and what lays that out."""
WRITTEN: Mapping[str, type] = {
    "advise": Advice,
    "cluster": ClusterResult,
    "jobs advise": Changes,
    "jobs compare": Comparison,
    "jobs run": RanJobs,
    "simulate": Simulation,
    "verify": Verified,
}
"""By the `command` of a document: what its file says, all of it."""
OF_FOLDERS = {"files", "columns", "rerun", "written"}
"""Keys of a manifest that say what lies beside it."""


def check_written(document: Mapping[str, Any], place: Path) -> None:
    """Refuse the document of a file that is not whole, if its command is one of `WRITTEN`.

    Raises ScenarioError with the file, a line for each fault; see `documents.read_format`.
    """
    if (kind := WRITTEN.get(command := str(document.get("command")))) is not None:
        own = OF_FOLDERS if place.name == "manifest.json" else ()
        said = {key: value for key, value in document.items() if key not in own}
        documents.read_format(kind, said, place, newest=1, writer=f"apportion {command}")


def page_of(document: Mapping[str, Any]) -> blocks.Page:
    """The page of a document; one of an unknown command is shown like a quickstart's, as far as it goes."""
    kind, page = PAGES.get(str(document.get("command")), PAGES["quickstart"])
    return page(documents.from_dict(kind, document))


def render_html(document: Mapping[str, Any]) -> str:
    """Write the report of a stored result as one self-contained page.

    Parameters
    ----------
    document
        What a command prints with `--json`; parts may be empty or None. Its `command` says which page it is.
    """
    return render_page(page_of(document))
