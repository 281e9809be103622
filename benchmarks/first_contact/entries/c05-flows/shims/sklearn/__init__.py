"""Small stand-in: not called with --dataset POWER --flow maf."""
