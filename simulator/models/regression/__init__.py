"""Run times from run history: the user's cost formula fitted to runs, with intervals, diagnostics and advice."""
