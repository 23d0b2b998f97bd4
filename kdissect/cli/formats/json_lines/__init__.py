"""Exchanges as lines of JSON, made of parts and templates."""
