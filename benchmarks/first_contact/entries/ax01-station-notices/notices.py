"""Synthetic railway announcements, character tokens."""
import random

import numpy as np
import torch

PLACES = ["Kelling Bridge", "Upper Marl", "Saltham", "Fenwick Cross", "Oxley Park", "Dunmere", "Holt Junction", "Ravensea", "Piper's Hill",
          "Stowe Central", "Long Aston", "Wick Harbour", "Eastmoor", "Carrow Road", "Thornby", "Little Osney"]
CAUSES = ["a fault with the signalling system", "a broken down train", "a landslip", "leaves on the line", "a shortage of train crew",
          "animals on the railway", "overrunning engineering works", "flooding", "a points failure", "damage to the overhead wires"]
COMPANIES = ["Northshire", "Coastway", "Great Fen", "Marches and Border"]


def one_notice(rng):
    hour, minute = rng.randrange(5, 24), rng.randrange(0, 60)
    head = f"The {hour:02d}:{minute:02d} {rng.choice(COMPANIES)} service"
    start, end = rng.sample(PLACES, 2)
    kind = rng.random()
    if kind < 0.4:
        late = rng.randrange(4, 55)
        eta = (hour * 60 + minute + late) % 1440
        return (f"{head} to {end} is delayed by approximately {late} minutes owing to {rng.choice(CAUSES)} at {start}. "
                f"It is now expected at {eta // 60:02d}:{eta % 60:02d}.\n")
    if kind < 0.6:
        return f"{head} from {start} to {end} has been cancelled. This is due to {rng.choice(CAUSES)}.\n"
    if kind < 0.85:
        stops = rng.sample(PLACES, rng.randrange(2, 6))
        calling = ", ".join(stops[:-1]) + " and " + stops[-1]
        return f"{head} to {stops[-1]} will depart from platform {rng.randrange(1, 13)}, calling at {calling}.\n"
    return f"Platform alteration. {head} to {end} will now depart from platform {rng.randrange(1, 13)}.\n"


class Notices:
    def __init__(self, count, seed):
        rng = random.Random(seed)
        text = "".join(one_notice(rng) for _ in range(count))
        self.alphabet = sorted(set(text))
        table = np.zeros(128, dtype=np.uint8)
        for i, c in enumerate(self.alphabet):
            table[ord(c)] = i
        coded = torch.from_numpy(table[np.frombuffer(text.encode("ascii"), dtype=np.uint8)])
        cut = int(len(coded) * 0.97)
        self.train, self.held_out = coded[:cut], coded[cut:]

    def windows(self, source, starts, length):
        block = source[starts[:, None] + torch.arange(length + 1)].long()
        return block[:, :-1], block[:, 1:]
