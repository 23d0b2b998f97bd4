"""Faults of a schema, and of a value with a schema."""


class SchemaError(Exception):
    """A schema, or a file of schemas, that cannot be used. One line that names it."""


class ValueFaultError(Exception):
    """A value that its schema does not decode."""
