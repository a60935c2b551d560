"""Job streams: alternatives compared on the same draws, forecasts of starts, and advice on which change pays."""
