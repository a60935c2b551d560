"""Other hosts: reached over ssh or srun, measured by workers there, all of them at once."""
