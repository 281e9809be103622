"""Stand-in: pickle under dill's name."""
from pickle import dump, dumps, load, loads


def extend(use_dill=True):
    """torch calls this when it finds a module of this name."""
