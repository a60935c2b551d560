"""Real runs of recommended and baseline configurations, here, beside the load that was assumed.

What runs and is timed comes from `simulator.calibration`; what is recommended, from `advise`.
"""

from advisor.verification.applications import CommandRuns, ProgramRuns, RealApplication
from advisor.verification.interleaved import Loads, Verification, run_interleaved
from advisor.verification.places import Places, places_on

__all__ = [
    "CommandRuns",
    "Loads",
    "Places",
    "ProgramRuns",
    "RealApplication",
    "Verification",
    "places_on",
    "run_interleaved",
]
