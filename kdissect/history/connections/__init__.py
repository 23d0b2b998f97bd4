"""State of one connection: versions, login, throttling, and why it failed."""
