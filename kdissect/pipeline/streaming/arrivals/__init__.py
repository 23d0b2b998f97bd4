"""Files that keep arriving: which are complete, in which order they are taken, and how Spark counts them."""
