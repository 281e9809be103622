"""Nothing to prepare: the environment makes its own data."""
