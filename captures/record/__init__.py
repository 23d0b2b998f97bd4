"""Records the corpus: real brokers, real clients, on loopback; see README.md beside this file."""
