"""Two engines, one meaning: `run` picks one and records which; `costs` turns a scenario into integers for both.

What a run returns is here (`run_set`, `log`); what is made of it (tables, timelines, figures) lives in `results`.
"""
