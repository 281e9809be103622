from pickle import *
from pickle import dump, dumps, load, loads


def extend(use_dill=True):
    pass
