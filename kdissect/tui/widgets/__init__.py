"""Widgets that show plain rows and lines."""
