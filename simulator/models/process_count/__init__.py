"""Models of programs that give every process the same work: their time by problem size and processes per PE."""
