"""The page of `kdissect why` in each of its formats."""
