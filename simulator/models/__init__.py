"""Pure maths: arrays in, same shape out; no clock, no files, no random numbers."""
