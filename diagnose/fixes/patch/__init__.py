"""Fixes as patches of the user's own source."""
