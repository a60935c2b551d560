"""What-ifs as an answer: which of some changes pays most, by how much, and how sure that is."""

from advisor.whatif.advised import advised
from advisor.whatif.asking import WhatIf, plan_whatif, varied, what_if
from advisor.whatif.findings import Findings, findings_of, whatif_document

__all__ = ["Findings", "WhatIf", "advised", "findings_of", "plan_whatif", "varied", "what_if", "whatif_document"]
