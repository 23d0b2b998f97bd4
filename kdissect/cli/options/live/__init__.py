"""Options of commands that capture, and of metrics that are served meanwhile."""
