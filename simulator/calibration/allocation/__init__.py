"""Runs of a program under chosen numbers of processes per PE: the plan as a file, the runs made for real, their times.

Which runs to plan is decided in `advisor.advise.process_counts`, and models of them live in `models.process_count`.
"""
