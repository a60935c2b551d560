"""Streams of jobs: what was, or will be, submitted to one cluster, read from logs of other programs or generated."""
