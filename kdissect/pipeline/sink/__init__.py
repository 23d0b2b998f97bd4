"""Tables that grow batch by batch and that others can trust: what is committed is named, and nothing else is.

`table_directory` commits, `compaction` and `retention` rewrite, `readers` hands out what is committed,
`alerts` sends findings. docs/tables-at-rest.md describes what readers may rely on.
"""
