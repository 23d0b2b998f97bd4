"""From a captured packet to the ordered bytes of each TCP direction. Sans-IO."""
