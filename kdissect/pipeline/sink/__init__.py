"""Tables that grow batch by batch and that readers can trust: a file counts only if the manifest names it.

`table_directory` commits, `compaction` and `retention` rewrite, `readers` hands out what is committed,
`alerts` sends findings. docs/tables-at-rest.md describes what readers may rely on.
"""
