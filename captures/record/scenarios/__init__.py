"""The scenarios, one a file; `captures.record.catalogue` finds them."""
