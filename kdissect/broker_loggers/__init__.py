"""Switching a logger of running brokers on for some time, and off again (`kdissect request-log`)."""
