"""Recording a user's MPI program: a recorder compiled for the MPI in use, its files, one recording of several runs."""
