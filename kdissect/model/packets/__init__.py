"""Captured packets and segments: their form, whose they are, and how one direction reaches its reader."""
