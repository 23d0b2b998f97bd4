"""Comparison of two captures: the activity of each client in both, and the differences, most significant
first.

`sides` reads one capture, `alignment` pairs the clients of both, `differences` compares them.
"""
