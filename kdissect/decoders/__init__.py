"""Bytes to values (`compiled`), bytes to spans (`tree_decoder`), values to bytes (`encoder`), all from one
schema.
"""
