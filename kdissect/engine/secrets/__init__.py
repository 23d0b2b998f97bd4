"""Where secrets stand in frames, and frames with other bytes over them."""
