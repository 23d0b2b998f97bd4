"""Request logs of brokers that are slow for a known reason."""
