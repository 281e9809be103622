"""Stand-in: imported by utils.py, not used by the PyTorch example."""
