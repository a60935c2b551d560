"""The report of a run: one self-contained HTML file, or plain text for the terminal.

It lays out documents and decides nothing: what they say is computed in `advise`, `verification`, `whatif` and the
simulator. How numbers are written stands in `advisor.wording`.
"""
