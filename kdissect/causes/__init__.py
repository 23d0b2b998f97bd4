"""Causes of trouble in a capture, in order, with evidence (docs/why.md).

One pass gathers `evidence`: histories, statistics, marks of compiled guards. Then each cause, a file in the
folder of its subject, looks at that. An effect of another cause is reported with it.
"""
