"""The fields that a filter names, and where their values come from."""
