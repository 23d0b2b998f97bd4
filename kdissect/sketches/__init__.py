"""Counting in bounded memory, exactly mergeable: values by size, and events over time.

Rules and statistics both count with them, and neither sees the other. They know no Kafka and no packets.
"""
