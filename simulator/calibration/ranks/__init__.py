"""Processes of one application on the PEs of this machine, and what is measured with them: speeds and messages."""
