"""The search for the configuration to recommend: candidates, simulation, ranking, explanation, host files.

`recommendation` and `search` own it; `partition` and `process_counts` are exact searches of a model. What is printed or
drawn of an advice lives in `advisor.report`.
"""
