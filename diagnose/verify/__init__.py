"""A fix measured: the script with and without it, run by run, and what the difference says."""
