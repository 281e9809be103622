"""A run watched to its end: what its steps took, when they became slower, and a recording of that."""
