"""Memory levels: how long an access takes (Apex-MAP), and models of that fitted to measured times."""

from simulator.models.memory.levels import MemoryLevel, MemoryUse, access_time_s, shared_access_time_s

__all__ = ["MemoryLevel", "MemoryUse", "access_time_s", "shared_access_time_s"]
