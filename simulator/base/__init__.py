"""What everybody may use: errors, units, files, tables, formulas, randomness, ties, provenance, the machine.

Nothing of the domain lives here: no model, no platform, no scenario.
"""
