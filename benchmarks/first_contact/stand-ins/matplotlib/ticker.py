from matplotlib import _Nothing

_nothing = _Nothing()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return _nothing
