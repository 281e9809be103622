"""What memory holds, whose it is, and what ran out of it."""
