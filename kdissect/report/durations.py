"""Spans of time for people; see `report.durations`."""

from kdissect.report.durations import duration

__all__ = ["duration"]
