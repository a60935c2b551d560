"""Construction runs for process-count models: which to make, making them for real, and keeping each at once."""
