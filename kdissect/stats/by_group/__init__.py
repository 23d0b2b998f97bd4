"""Groups: members, rebalances, commits and lag."""
