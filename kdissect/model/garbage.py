"""How often Python searches for cycles of objects."""

# Objects created between two searches for cycles. Exchanges have no cycles, so that a search finds none. With
# Python's 700, such searches take a twentieth of the time, and if thousands of connections are opened even 20
# 000 take as long. 50 000 use some 5 MB.
COLLECT_EVERY = 50_000
