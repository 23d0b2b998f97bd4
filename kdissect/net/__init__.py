"""From a captured packet to the ordered bytes of each direction of a TCP connection. Sans-IO."""
