"""Keeps an eye on memory and throughput of a run."""
import os
import subprocess
import time


class RunMonitor:
    def __init__(self, path):
        self.file = open(path, "w")
        self.file.write("step\tseconds\ttokens\trss_mb\n")
        self.started = time.time()
        self.tokens = 0
        self.peak = 0.0

    @staticmethod
    def resident_mb():
        out = subprocess.check_output(["ps", "-o", "rss=", "-p", str(os.getpid())], text=True)
        return int(out) / 1024

    def update(self, step, tokens):
        self.tokens += tokens
        rss = self.resident_mb()
        self.peak = max(self.peak, rss)
        self.file.write(f"{step}\t{time.time() - self.started:.2f}\t{self.tokens}\t{rss:.1f}\n")

    def rate(self):
        return self.tokens / (time.time() - self.started)

    def close(self):
        self.file.close()
