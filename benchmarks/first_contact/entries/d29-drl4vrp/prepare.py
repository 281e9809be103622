"""Nothing to make: the tours are drawn by the script."""
