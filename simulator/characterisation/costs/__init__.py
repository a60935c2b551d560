"""What an operation costs on this machine: micro-benchmarks, fits to training runs, and the hardware model they make."""
