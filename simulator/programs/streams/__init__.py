"""Streams of jobs: what was, or will be, submitted to one cluster, read from logs of other programs or generated.

Nothing here knows when a job starts or where it runs; that is for policies (`simulator.scheduling`) and engines.
"""
