"""Tests of running brokers and of clients, and the verdict on their packets (`kdissect conform`)."""
