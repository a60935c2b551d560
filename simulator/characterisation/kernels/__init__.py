"""The kernels that the study of characterisation methods runs: plain functions that Numba compiles."""
