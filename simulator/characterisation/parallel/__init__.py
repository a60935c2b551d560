"""Kernels of the study in parallel: their steps under a template, foretold by each method and run by real processes."""
