"""Slurm's own decisions beside ours: as they were recorded, and made again by a real slurmctld."""

import pytest

from tests.studies import slurm_study as study
from tests.support.slurm_daemons import SlurmDoesNotStartError, missing

SOON = ("fair", "tiers")
"""Streams of the default suite."""
LATER = [pytest.param(name, marks=pytest.mark.slow) for name in study.STREAMS if name not in SOON]


@pytest.mark.parametrize("name", [*SOON, *LATER])
def test_jobs_start_about_as_slurmctld_started_them(name):
    """Decisions of a second earlier or later move all that follow; one second per job moves waits by as much."""
    found = study.compared(name)
    assert found.order >= 0.85
    assert found.apart_s < study.compared(name, backfill="none").apart_s
    assert 0.6 <= found.simulated_s / found.real_s <= 1.1


@pytest.mark.real
@pytest.mark.skipif(bool(missing()), reason=f"Slurm cannot run here: {missing()}")
def test_a_slurmctld_of_today_starts_jobs_about_so(tmp_path):
    try:
        rows = study.real(study.STREAMS["basic"], jobs=60, lasting_s=60.0)
    except SlurmDoesNotStartError as said:
        pytest.skip(f"Slurm's daemons do not start here: {said}")
    study.save(tmp_path / "basic.csv", rows)
    found = study.compared("basic", tmp_path)
    assert found.jobs == 60
    assert found.order >= 0.9
