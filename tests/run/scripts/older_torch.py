"""A plain loop on a torch that says it is older than it is."""

import sys

import torch

torch.__version__ = sys.argv[1]

import plain  # noqa: E402

plain.main(100000)
