"""Small stand-in."""
