"""diagnose: find what slows a PyTorch script, at which line, and what fixing it gains.

`python -m diagnose train.py` does that for a script, `diagnose.record` for a loop in a
notebook or inside a larger program, `diagnose.watch` watches it to its end.
"""

__version__ = "0.1.0"
__all__ = ["__version__", "record", "watch"]


def __getattr__(name):
    """`record` and `watch`, which are imported when they are asked for:

    `import diagnose` costs nothing. Their signatures are in __init__.pyi.
    """
    if name in ("record", "watch"):
        return getattr(__import__("diagnose.in_process", fromlist=[name]), name)
    if name == "load_ipython_extension":  # %load_ext diagnose
        return __import__("diagnose.integrations.jupyter", fromlist=[name]).load_ipython_extension
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
