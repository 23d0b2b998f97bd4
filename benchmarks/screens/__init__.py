"""Pictures of the terminal user interface, made by scripts: for the README, and to be looked at."""
