"""Aggregation: volumes, speeds, senders and partners. Sans-IO.

It is above the histories and next to the rules. Neither sees the other.

Rules of the layer:
- Counts merge: two halves of a capture, counted separately and merged, have the numbers of the whole, so
  that one machine, several machines and the live view agree. Percentiles come from sketches with bins that
  merge exactly (`distribution`), rates from intervals that merge exactly (`series`).
- Every table is bounded by a named constant. Entries beyond the bound are counted in a row with a name that
  shows
  it.
- A fact that the wire does not show is None, and no number is computed from it.
"""
