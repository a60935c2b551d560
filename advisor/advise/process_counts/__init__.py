"""Process counts for programs that give every process the same work: advice by a model fitted to measured runs."""

from advisor.advise.process_counts.advice import (
    ProcessCountAdvice,
    advise_allocation,
    check_kinds,
    host_commands,
    host_files,
    layout_of_advice,
)
from advisor.advise.process_counts.options import Limits, parse_hosts, parse_kinds, parse_memory
from advisor.advise.process_counts.wording import configuration_text, render_choice, sentence

__all__ = [
    "Limits",
    "ProcessCountAdvice",
    "advise_allocation",
    "check_kinds",
    "configuration_text",
    "host_commands",
    "host_files",
    "layout_of_advice",
    "parse_hosts",
    "parse_kinds",
    "parse_memory",
    "render_choice",
    "sentence",
]
