"""The ledger of symptoms: everything in a capture that does not go as its client wants."""
