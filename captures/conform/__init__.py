"""`kdissect conform broker` against real brokers, and against a broker that plays the faults of replays."""
