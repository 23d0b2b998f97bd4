"""An append-only index of exchanges, and how their frames are found again."""
