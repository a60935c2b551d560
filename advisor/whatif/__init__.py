"""What-ifs as an answer: which of some changes pays most, by how much, and how sure that is."""

from advisor.whatif.advised import advised
from advisor.whatif.asking import WhatIf, plan_whatif, varied, what_if
from advisor.whatif.findings import Findings
from advisor.whatif.judging import findings_of
from advisor.whatif.scaling import ScalingPlan, plan_scaling, read_nodes, scaling_of

__all__ = [
    "Findings",
    "ScalingPlan",
    "WhatIf",
    "advised",
    "findings_of",
    "plan_scaling",
    "plan_whatif",
    "read_nodes",
    "scaling_of",
    "varied",
    "what_if",
]
