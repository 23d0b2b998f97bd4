"""Aggregation: how much, how fast, who, with whom. Sans-IO.

It stands above the histories, beside the rules; neither sees the other.

Rules of the layer:
- What is counted merges: two halves of a capture counted apart and merged give the numbers of the whole, so
  that one machine, several machines and the live view agree. Percentiles come from sketches with bins that
  merge exactly (`distribution`), rates from intervals that merge exactly (`series`).
- Every table is bounded by a named constant; what does not fit is counted in a row that says so.
- What the wire does not show is None, and no number is made of it.
"""
