"""The reference: a body as a tree in which every node knows its bytes, and that tree as text."""
