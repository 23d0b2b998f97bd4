"""Studies: analyses that a worker runs for the views."""
