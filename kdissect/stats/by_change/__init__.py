"""What `kdissect changes` knows."""
