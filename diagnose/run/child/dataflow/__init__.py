"""What the script's calls of torch depend on, for one step once all is recorded."""
