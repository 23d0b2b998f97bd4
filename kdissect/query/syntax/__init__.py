"""The text of a filter: tokens, nodes, the parser and its errors."""
