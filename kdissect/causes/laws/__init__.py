"""Laws that every conclusion must survive: what contradicts a cause in the rest of the capture."""
