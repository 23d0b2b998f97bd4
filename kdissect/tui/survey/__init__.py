"""What a whole capture tells: tables of statistics and histories, and findings, made beside the screens.

A survey takes the analyzer's events and gives facts when asked. It runs in a process of its own, which reads
the captures once more, so that a keystroke never waits for it; where they cannot be read twice (standard
input, a live interface) it runs beside the loader, in the same process.
"""
