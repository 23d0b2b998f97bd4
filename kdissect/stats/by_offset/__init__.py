"""The statistics of `kdissect offsets`."""
