"""Decisions from what is known at a tick: who starts when and where. Pure; engines call them or do the same faster."""
