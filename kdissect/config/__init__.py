"""Settings of a project: `kdissect.toml`, or `[tool.kdissect]` in `pyproject.toml`.

Values only: which rules there are and what the options of a command take is known above.
"""
