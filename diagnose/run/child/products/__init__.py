"""Products of one step, and what they take when they are made in another way."""
