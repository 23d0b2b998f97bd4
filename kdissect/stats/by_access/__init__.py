"""The statistics of `kdissect access`."""
