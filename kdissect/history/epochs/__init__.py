"""Epochs of leaders, of the metadata quorum and of brokers."""
