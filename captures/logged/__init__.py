"""Request logs of brokers that six clients use, with the packets of the same time."""
