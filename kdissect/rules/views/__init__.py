"""What rules are shown: bodies, batches, connections, and what is kept of the exchanges before."""
