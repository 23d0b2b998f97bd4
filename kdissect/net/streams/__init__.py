"""From TCP segments in any order to the bytes of each direction in causal order."""
