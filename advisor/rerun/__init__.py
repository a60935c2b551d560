"""Results that can be made again: what a results folder keeps for that, the command run again, what differs then."""

from advisor.rerun.again import Rerun, rerun, rerun_page, said_as
from advisor.rerun.kept import COMMANDS, keep, named_by

__all__ = ["COMMANDS", "Rerun", "keep", "named_by", "rerun", "rerun_page", "said_as"]
