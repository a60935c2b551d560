"""Intermediate and machine code of a compiled function: its blocks, what each uses, and how often each is entered."""
