"""The compiled engine (Numba): many configurations and replications of a program at once."""
