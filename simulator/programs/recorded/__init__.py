"""Programs that were recorded: what the ranks of a real MPI program did, and formats of other programs that say so."""
