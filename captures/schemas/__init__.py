"""Records that real serializers wrote, in made-up packets, with the schemas of their registry."""
