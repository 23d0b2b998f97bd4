"""Causes about time: who is slow, who makes others wait."""
