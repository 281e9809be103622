class DNC:
    """Stand-in: only DMNC, another model, uses it."""
