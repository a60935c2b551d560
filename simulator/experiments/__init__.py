"""Many scenarios at once: named changes of one (what-if), and sweeps over them that resume, here or on a cluster."""
