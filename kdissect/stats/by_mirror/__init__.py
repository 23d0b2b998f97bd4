"""Whether the records of a topic arrived in its copy."""
