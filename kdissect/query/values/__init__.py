"""Kinds of values, how they are written in a filter, and the operators that compare them."""
