"""Nothing to make: the stand-in for torchvision makes the digits itself (6000 for training, 2000 for test)."""
import os

os.makedirs("results", exist_ok=True)
