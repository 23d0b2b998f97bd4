"""State of producers and their transactions."""
