"""All micro-benchmarks: of fractions, of whole numbers and tests, of loads and stores."""

from simulator.characterisation.costs import micro_floats, micro_ints, micro_memory
from simulator.characterisation.costs.micro import Micro

SUITE: tuple[Micro, ...] = (*micro_floats.MICROS, *micro_ints.MICROS, *micro_memory.MICROS)
"""None of them is a kernel of the study, and none of their parts was chosen by what those need."""
