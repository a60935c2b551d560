"""What computations on this machine lose to each other: probes and kernels measured alone and next to each other."""
