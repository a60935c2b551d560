"""The speed of a kernel or command over problem size, by real runs; `bands` decides which sizes to measure."""
