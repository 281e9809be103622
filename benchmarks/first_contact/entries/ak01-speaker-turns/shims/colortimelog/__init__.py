"""The one call of colortimelog that is used here: a line with the time, if it is important enough."""
import datetime


class Logger:
    def __init__(self, verbosity):
        self.verbosity = verbosity

    def print(self, level, message):
        if level <= self.verbosity:
            print(datetime.datetime.now().strftime('%Y-%m-%d %H:%M:%S'), message, flush=True)
