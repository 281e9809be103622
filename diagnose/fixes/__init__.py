"""Fixes: what each is, and how it changes the source."""
