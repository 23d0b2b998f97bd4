"""The version of kdissect: here, and not in the package, which names the layers above its parts."""

__version__ = "0.1.0"
