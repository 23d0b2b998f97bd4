"""Causes about access: who may not, cannot, or does not know where."""
