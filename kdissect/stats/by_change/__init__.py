"""The statistics of `kdissect changes`."""
