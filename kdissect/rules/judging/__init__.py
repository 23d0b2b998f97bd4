"""How an exchange meets the rules that can report it, and which checks are skipped because they cannot."""
