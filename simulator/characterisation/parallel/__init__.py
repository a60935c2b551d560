"""Kernels of the study in parallel: their steps under a template, predicted by each method and really run."""
