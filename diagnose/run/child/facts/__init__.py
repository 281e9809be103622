"""What no trace holds: what the script uses, and how it is set up."""
