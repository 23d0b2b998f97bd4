"""The panes of the exchanges view: the list, the fields and the bytes."""
