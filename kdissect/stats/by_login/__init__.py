"""What `kdissect logins` knows."""
