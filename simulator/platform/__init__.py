"""What a program runs on: PEs, nodes, links and topologies, and platforms that other programs describe.

The file that a user writes lives in `scenario_file`, what a PE can do in `models`.
"""
