"""From a Python function to its software execution graph: source, intermediate and machine code, counted per step."""
