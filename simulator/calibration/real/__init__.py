"""Real measurement of one PE: what is run, how a point is sampled, how far sizes go, and where points are kept."""
