"""Rules about failed connections."""
