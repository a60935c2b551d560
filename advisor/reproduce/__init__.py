"""The papers' tables, computed again and set beside what was printed; one file per paper."""
