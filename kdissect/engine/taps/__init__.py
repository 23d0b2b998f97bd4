"""Connections that two capture sets hold: one traffic, tapped at two places."""
