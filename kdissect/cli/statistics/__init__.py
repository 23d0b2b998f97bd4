"""Commands that count: `stats`, `topics`, `groups`, `producers`, `fetch-sessions` and their like."""
