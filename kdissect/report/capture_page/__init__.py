"""One page of a capture to share: causes, a map of the traffic, a timeline, tables that sort and filter."""
