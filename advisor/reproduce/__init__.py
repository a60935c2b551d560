"""The papers' tables, computed again from what was printed or recorded, and compared with it.

One file per paper; methods themselves live in the simulator and in `advise`, and none of it imports this.
"""

PAPERS = ("allocation", "apexmap", "characterisation", "gbbp", "scopred")
"""Modules of this package.

Each has `CITATION`, `MISPRINTS`, `reproduce(folder)`, which computes its tables and draws into the folder, if there is
one, and `inventory(result)`: all its tables and figures compared with ours, what cannot be had and why.
"""
