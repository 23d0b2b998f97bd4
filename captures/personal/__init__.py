"""Made-up personal data of eight countries, with the truth about it."""
