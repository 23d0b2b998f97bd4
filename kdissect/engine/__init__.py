"""Packets of a whole capture to exchanges, and the one schema of every output row. Sans-IO."""
