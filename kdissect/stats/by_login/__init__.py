"""The statistics of `kdissect logins`."""
