"""Run the user's script in a child process and record it."""
