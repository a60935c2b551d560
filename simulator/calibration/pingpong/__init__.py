"""Message times between real processes: ping-pong over any medium, exchanges, pairs at once, and chains of relays."""
