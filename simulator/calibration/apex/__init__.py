"""Apex-MAP really run: sweeps over memory size M, locality alpha and run length L, on one process or several."""
