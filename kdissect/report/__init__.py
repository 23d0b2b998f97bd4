"""Reports: findings and what surrounds them as text, JSON and what CI systems read."""
