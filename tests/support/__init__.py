"""Builders that tests share.

None of them uses kdissect's own encoders, so that a test compares two opinions.
"""
