"""The papers' tables, computed again and compared with what was printed, and the studies that need real runs.

One file per paper; methods themselves live in the simulator and in `advise`, and none of it imports this.
"""
