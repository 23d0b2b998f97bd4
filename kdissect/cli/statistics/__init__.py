"""Commands that count: `stats`, `topics`, `groups`, `producers`, `fetch-sessions`, `logins` and `changes`."""
