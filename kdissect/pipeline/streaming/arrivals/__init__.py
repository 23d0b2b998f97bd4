"""Files that keep arriving: the complete ones, their order, and their offsets in Spark."""
