"""Results that can be made again: what a results folder keeps for that, the command run again, what differs then."""

from advisor.rerun.again import Rerun, rerun, rerun_text
from advisor.rerun.kept import COMMANDS, keep

__all__ = ["COMMANDS", "Rerun", "keep", "rerun", "rerun_text"]
