"""What-ifs as an answer: which of some changes pays most, by how much, and how sure that is."""

from advisor.whatif.advised import advised
from advisor.whatif.findings import whatif_document

__all__ = ["advised", "whatif_document"]
