"""Only imported here, never called."""


def set_trace(*args, **kwargs):
    breakpoint()
