"""Small stand-in: imported for its registration of environments only."""
