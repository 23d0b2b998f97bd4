"""Causes of last resort: each reports the symptoms of one kind that no other cause claims."""
