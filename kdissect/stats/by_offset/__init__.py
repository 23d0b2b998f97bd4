"""What `kdissect offsets` knows."""
