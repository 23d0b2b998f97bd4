"""Rules: keys and values by the user's schemas."""
