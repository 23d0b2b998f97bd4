"""The formats of the page of `kdissect why`."""
