"""Small stand-in: nothing is called."""
