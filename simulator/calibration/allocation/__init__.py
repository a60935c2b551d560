"""Process-count models: which construction runs to make, making them for real, reading them, and keeping the fit."""
