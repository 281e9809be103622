"""Scores a replayed stream of messages the way the service does: gather what waits, batch by length, answer."""
import argparse
import statistics
import time
from collections import deque

import numpy as np
import torch

from model import Scorer


def replay(count, vocab, seed):
    """(number, words) in order of arrival."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.gamma(4.0, 11.0, count).astype(int), 4, 128)
    return deque((i, torch.from_numpy(rng.integers(1, vocab, n))) for i, n in enumerate(lengths))


def make_batches(waiting, token_budget):
    """Neighbours in length share a batch of at most token_budget padded words."""
    waiting.sort(key=lambda r: len(r[1]))
    batches, current = [], []
    for request in waiting:
        if current and (len(current) + 1) * len(request[1]) > token_budget:
            batches.append(current)
            current = []
        current.append(request)
    if current:
        batches.append(current)
    return batches


class Service:
    def __init__(self, model, token_budget):
        self.model = model.eval()
        self.token_budget = token_budget
        self.latency = []
        self.flagged = 0

    @torch.inference_mode()
    def answer(self, batch):
        words = torch.nn.utils.rnn.pad_sequence([r[1] for r in batch], batch_first=True)
        lengths = torch.tensor([len(r[1]) for r in batch])
        return self.model(words, lengths).tolist()

    def run(self, stream, window):
        began, calls = time.perf_counter(), 0
        while stream:
            waiting = [stream.popleft() for _ in range(min(window, len(stream)))]
            taken = time.perf_counter()
            for batch in make_batches(waiting, self.token_budget):
                scores = self.answer(batch)
                calls += 1
                self.flagged += sum(s > 0.6 for s in scores)
                self.latency += [time.perf_counter() - taken] * len(batch)
                if calls % 100 == 0:
                    recent = self.latency[-1000:]
                    print(f"{calls} calls, {len(self.latency)} answered, median latency {statistics.median(recent):.2f}s")
        return calls, time.perf_counter() - began


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--requests", type=int, default=24000)
    ap.add_argument("--token-budget", type=int, default=1536)
    ap.add_argument("--window", type=int, default=512)
    args = ap.parse_args()
    torch.manual_seed(0)
    service = Service(Scorer(), args.token_budget)
    calls, took = service.run(replay(args.requests, 5000, 1), args.window)
    print(f"{calls} calls in {took:.1f}s, {1000 * took / calls:.1f} ms per call, {service.flagged} flagged")
