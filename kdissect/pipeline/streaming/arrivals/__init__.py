"""Files that keep arriving: the complete files, their order, and their offsets in Spark."""
