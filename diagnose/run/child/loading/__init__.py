"""Loaders: how they are set up, and what fetching takes, in this process and in workers."""
