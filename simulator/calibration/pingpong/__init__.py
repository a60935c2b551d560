"""Message times between two real processes: ping-pong over any medium."""
