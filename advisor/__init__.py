"""The advisor: asks the simulator questions and checks its answers by real runs."""
