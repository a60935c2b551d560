"""The run history: runs of applications in SQLite, recorded here or imported, and models fitted to them."""
