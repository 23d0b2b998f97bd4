"""Bytes to values (`compiled`), bytes to spans (`spanned`), values to bytes (`encoder`), all from one
schema.
"""
