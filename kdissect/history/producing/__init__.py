"""State of producers and of their transactions."""
