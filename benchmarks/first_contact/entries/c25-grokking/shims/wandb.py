"""Small stand-in: keeps the run's configuration, prints what is logged."""
from types import SimpleNamespace

run = None
config = None


def init(project=None, config=None):
    global run
    globals()["config"] = SimpleNamespace(**config)
    run = SimpleNamespace(name=project)


def log(d, step=None):
    print(step, {k: round(v, 4) for k, v in d.items()}, flush=True)
