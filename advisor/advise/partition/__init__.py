"""Units of work among PEs of known speed functions: exact partitions, the naive ones, and a bound."""
