"""A whole run that was watched: its levels of speed, what changed between them, and its slow steps."""
