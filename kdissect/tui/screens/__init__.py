"""Screens over the views: help, follow stream, questions, copying and saving."""
