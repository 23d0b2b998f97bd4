"""Requests to a running broker, and the verdict on its responses (`kdissect conform`)."""
