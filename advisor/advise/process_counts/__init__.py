"""Process counts for programs that give every process the same work, by a model fitted to measured runs."""
