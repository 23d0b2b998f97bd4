"""Options that several commands share: what they are called, and what they become."""
