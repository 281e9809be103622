"""The user's own module of that name."""

NAME = "mine"
