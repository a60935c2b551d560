"""The search for the configuration to recommend: candidates, simulation, ranking, explanation, host files.

`recommendation` and `search` own it; `partition`, `allocate` and `process_counts` propose. What is printed or drawn of
an advice lives in `advisor.report`.
"""
