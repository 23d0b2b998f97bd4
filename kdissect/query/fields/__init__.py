"""The fields that a filter names, and the sources of their values."""
