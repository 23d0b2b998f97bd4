"""Fetch sessions: clients that build them again, and clients that poll without records."""
