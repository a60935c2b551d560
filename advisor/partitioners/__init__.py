"""Partitioners: who gets how many units of work; one file, one method."""

from advisor.partitioners.equal import equal
from advisor.partitioners.functional import functional
from advisor.partitioners.proportional import proportional
from advisor.partitioners.refined import refined

__all__ = ["equal", "functional", "proportional", "refined"]
