"""The default process-count model: coefficients that are one physical constant are shared across m, P and N."""
