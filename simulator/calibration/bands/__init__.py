"""Speed bands built from real runs or recorded tables: the naive grid, GBBP, and our adaptive builder."""
