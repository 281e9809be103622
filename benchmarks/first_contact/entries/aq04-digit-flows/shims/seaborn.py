"""Stand-in: nothing is drawn."""


def set(**options):
    pass


def lineplot(**options):
    raise NotImplementedError
