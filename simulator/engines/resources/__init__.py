"""What the processes of the SimPy engine share: PEs under load, messages, links, barriers and farms.

All of it speaks in ticks. What takes time hands out an `Occurrence`, a SimPy event, which a process waits for; what is
decided at the end of an instant is asked for through `Instant`.
"""
