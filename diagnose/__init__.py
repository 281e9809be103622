"""diagnose: find what slows a PyTorch script, at which line, and what fixing it gains."""

__version__ = "0.1.0"
