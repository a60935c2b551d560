"""What everybody may use: errors, units, files, tables, formulas, randomness, ties, provenance, the machine."""
