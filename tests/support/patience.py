"""How long a test waits for what must come: a machine may have much else to do, no test asserts a time."""

PATIENCE_S = 300.0
