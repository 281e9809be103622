"""Which of the script's lines run, and for how long."""
