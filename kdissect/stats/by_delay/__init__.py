"""How long records take from their producer to their readers."""
