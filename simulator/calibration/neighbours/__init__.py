"""What computations on this machine lose to each other: probes and kernels measured alone and beside each other."""
