"""Real runs of recommended and baseline configurations, here, with the load on that was assumed."""
