"""What an operation costs on this machine: micro-benchmarks, fits to training runs, the hardware model they make."""
