"""The version of kdissect: here, and not in the package, which names what stands above its parts."""

__version__ = "0.1.0"
