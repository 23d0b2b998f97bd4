"""What is wrong with a schema, and with a value that has one."""


class SchemaError(Exception):
    """A schema, or a file of schemas, that cannot be used. One line that names it."""


class ValueFaultError(Exception):
    """A value that its schema does not decode."""
