"""Repartition between iterations of a program that really runs: `Balancer.update` with each process's seconds.

>>> from apportion.balance import Balancer
>>> balancer = Balancer(300, 3)
>>> balancer.update([1.0, 1.0, 2.0])
[120, 120, 60]
"""

from simulator import balance

__all__ = ["Balancer", "Band", "Outlook", "Rule", "State", "begin", "c_files", "decide", "restore", "save"]

Balancer = balance.Balancer
Band = balance.Band
Outlook = balance.Outlook
Rule = balance.Rule
State = balance.State
begin = balance.begin
c_files = balance.c_files
decide = balance.decide
restore = balance.restore
save = balance.save
