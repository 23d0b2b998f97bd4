"""Runs that a seed draws: real traffic with one to three faults of those that operators meet, or without."""
