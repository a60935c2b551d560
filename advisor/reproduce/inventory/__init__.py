"""One file per paper: all its tables and figures beside ours, what cannot be had and why, and its misprints.

Each has `CITATION`, `MISPRINTS` and `tables(result) -> list[Compared]`; `result` is what the paper's module beside this
package returns from `reproduce`.
"""
