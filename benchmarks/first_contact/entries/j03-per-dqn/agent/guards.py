import functools

import torch


def finite(attribute):
    """Stop with a readable message when a network has diverged."""

    def wrap(method):
        @functools.wraps(method)
        def inner(self, *args, **kwargs):
            out = method(self, *args, **kwargs)
            for name, p in getattr(self, attribute).named_parameters():
                for what, t in (("weight", p), ("gradient", p.grad)):
                    if t is not None and not torch.isfinite(t).all():
                        raise FloatingPointError(f"{what} of {name} is not finite")
            return out
        return inner
    return wrap
