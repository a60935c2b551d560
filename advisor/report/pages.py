"""The answers of commands: what reads the file of one, and which page shows it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from advisor.advise.advice import Advice
from advisor.report.advice import advice_page
from advisor.report.cluster import ClusterResult, cluster_page
from advisor.report.job_answers import JobsAdvised, JobsCompared
from advisor.report.job_choices import changes_page, comparison_page
from advisor.report.jobs import RanJobs, jobs_page
from advisor.report.simulation import Simulation
from advisor.report.verification import verification_page
from advisor.report.whatif import whatif_page
from advisor.verification.check import Verified
from advisor.whatif.findings import Findings
from simulator import blocks, documents

READ: Mapping[str, type] = {
    "advise": Advice,
    "cluster": ClusterResult,
    "jobs advise": JobsAdvised,
    "jobs compare": JobsCompared,
    "jobs run": RanJobs,
    "quickstart": ClusterResult,
    "simulate": Simulation,
    "verify": Verified,
    "whatif": Findings,
}
"""By the `command` of a document: what it says, all of it."""
PAGES: Mapping[type, Callable[[Any], blocks.Page]] = {
    Advice: advice_page,
    ClusterResult: cluster_page,
    Findings: whatif_page,
    JobsAdvised: changes_page,
    JobsCompared: comparison_page,
    RanJobs: jobs_page,
    Verified: verification_page,
}
"""What lays an answer out; a simulation's page takes its runs too."""
OF_FOLDERS = {"files", "columns", "rerun", "written"}
"""Keys of a manifest that say what lies beside it."""


def read_answer(document: Mapping[str, Any], place: Path) -> Any:
    """The answer that a file holds."""
    command = str(document.get("command"))
    own = OF_FOLDERS if place.name == "manifest.json" else ()
    said = {key: value for key, value in document.items() if key not in own}
    return documents.read_format(READ[command], said, place, newest=1, writer=f"apportion {command}")


def page_of(answer: Any) -> blocks.Page:
    """The page of an answer."""
    return PAGES[type(answer)](answer)
