"""Rules: what counts as a mention of a kind. A kind without rules of its own has the general ones."""
