"""Small stand-in: draws nothing (called once an epoch)."""


def show(*a, **k):
    pass


plot = legend = show
