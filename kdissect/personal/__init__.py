"""Personal data and credentials in texts and in fields of decoded values."""
