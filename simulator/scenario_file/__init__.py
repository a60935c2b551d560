"""A scenario and its file: YAML, JSON or TOML -> checked form -> frozen `Scenario`, and back to YAML.

`load` is the way in; each kind of block has its form and what makes plain values of it. Nothing is simulated here.
"""
