"""Fetch sessions: who builds them anew, who polls for nothing."""
