"""Rules about connections that came to nothing."""
