"""Bodies as JSON: values that JSON can hold, dicts, and text."""
