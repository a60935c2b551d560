"""Putting the methods to the test: one function, its graph, what every method foretells, what was measured."""
