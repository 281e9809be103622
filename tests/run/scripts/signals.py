"""Trains for ever, slowly, until Ctrl-C."""

import ctypes
import signal
import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)


def handler(number, frame):
    print("its own handler", flush=True)
    sys.exit(3)


def slow_handler(number, frame):
    time.sleep(2)
    handler(number, frame)


asked_at = []


def remember(number, frame):
    asked_at.append(time.monotonic())


if "saves-first" in sys.argv:
    signal.signal(signal.SIGINT, remember)
if "handles" in sys.argv:
    signal.signal(signal.SIGTERM, handler)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
print("ready", flush=True)
try:
    for number in range(1_000_000):
        optimizer.zero_grad()
        model(torch.randn(16, 8)).square().mean().backward()
        optimizer.step()
        if number == 3 and "handles-late" in sys.argv:
            signal.signal(signal.SIGTERM, slow_handler)
        if number == 4:
            print("ticking", flush=True)
        if asked_at and time.monotonic() - asked_at[0] > 1:  # the epoch is over
            print("saved", flush=True)
            break
        time.sleep(0.05 if "slow" in sys.argv else 0)
        if "waits" in sys.argv and number == 6:
            libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
            for _ in range(2):
                libc.pthread_mutex_lock(mutex)  # the second time for ever: no line of Python is run that could handle a signal
        while "stuck" in sys.argv and number == 6:
            time.sleep(0.05)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
