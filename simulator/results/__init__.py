"""What is made of runs: folders and tables, timelines, figures, comparison, exports of platforms and jobs.

Pages and reports lay these out and live in `advisor.report`.
"""
