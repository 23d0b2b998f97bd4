"""Keys and values of records: ids of schemas in the bytes, and values decoded by schemas."""
