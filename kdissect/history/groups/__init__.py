"""State of groups: classic, consumer, share and streams."""
