"""Nothing to make."""
