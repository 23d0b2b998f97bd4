"""Rules: framing."""
