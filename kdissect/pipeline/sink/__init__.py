"""Tables that grow batch by batch and that others can trust: what is committed is named, and nothing else is.

`place` commits, `compaction` and `retention` rewrite, `readers` hands out what is committed, `alerts` tells
findings. docs/tables-at-rest.md describes what readers may rely on.
"""
