"""The script draws its own points; this makes the folder that it writes its pictures to."""
import os

os.makedirs(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tmp', '8gaussians'), exist_ok=True)
