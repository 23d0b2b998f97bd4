"""The panes of the view of exchanges: the list, the fields and the bytes."""
