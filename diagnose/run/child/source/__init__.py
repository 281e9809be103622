"""What the script's source tells of its loops."""
