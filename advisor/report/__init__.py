"""The report of a run: one self-contained HTML file, or plain text for the terminal.

It lays out documents and decides nothing: what they say is computed in `advise`, `verification`, `whatif` and the
simulator. How numbers are written stands in `advisor.wording`.
"""

from advisor.report.explanation_text import render_explanation
from advisor.report.html import render_html, render_page
from advisor.report.text import render_advice, render_text
from advisor.report.whatif_text import render_whatif

__all__ = ["render_advice", "render_explanation", "render_html", "render_page", "render_text", "render_whatif"]
