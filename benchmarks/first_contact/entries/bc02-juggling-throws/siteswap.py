"""Random vanilla siteswaps by walking the state graph of a juggler."""
import random
from functools import lru_cache


@lru_cache(maxsize=None)
def throws_from(state, height):
    """state: bit k set if a ball lands k beats from now. Pairs of throw and state after it."""
    if not state & 1:
        return ((0, state >> 1),)
    rest = state >> 1
    return tuple((h, rest | 1 << (h - 1)) for h in range(1, height + 1) if not rest >> (h - 1) & 1)


def walk(rng, balls, length, height):
    state, out = (1 << balls) - 1, []
    for _ in range(length):
        h, state = rng.choice(throws_from(state, height))
        out.append(h)
    return out


def library(count, seed, height=9, shortest=6, longest=25):
    """Walks of 3 to 5 balls: throw lists with the number of balls."""
    rng = random.Random(seed)
    walks = []
    for _ in range(count):
        balls = rng.randint(3, 5)
        walks.append((balls, walk(rng, balls, rng.randint(shortest, longest), height)))
    return walks
