"""What configuration files are called."""

OWN = "kdissect.toml"
SHARED = "pyproject.toml"
"""Of the whole project: ours is its table `tool.kdissect`."""
