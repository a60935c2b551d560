"""A scenario and its file: YAML, JSON or TOML -> checked form -> frozen `Scenario`, and back to YAML."""
