"""Commands that count: `stats`, `topics`, `groups`, `producers` and `fetch-sessions`."""
