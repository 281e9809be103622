"""Writes benchmark/mog_4.pkl, the fixed test sets, by the script's own mode."""
import subprocess
import sys

subprocess.run([sys.executable, 'run.py', '--mode', 'bench'], check=True)
