"""How long exchanges took, what that time went to, and how it went over time."""
