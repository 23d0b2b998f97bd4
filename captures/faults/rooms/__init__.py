"""The faults, a file for each kind: what a module here registers with `fault` is found by the catalogue."""
