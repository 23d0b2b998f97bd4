"""What crosses exchanges: names of topic ids."""
