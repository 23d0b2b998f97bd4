"""Judgement: rules that cite what they hold bytes to, and the judge that drives them.

One file per rule in its area's folder, registered by the explicit list of `registry`. A rule's docstring is
its page in docs/rules.
"""
