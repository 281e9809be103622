"""Nothing to make: the script makes its own data."""
