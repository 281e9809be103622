"""In-process text scoring service: client threads -> micro-batcher -> model."""
import argparse
import queue
import random
import statistics
import threading
import time

import torch
from torch import nn

MAX_BATCH = 16
MAX_WAIT = 0.008


class Scorer(nn.Module):
    def __init__(self, vocab=5000, d=192, layers=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.rnn = nn.GRU(d, d, num_layers=layers, batch_first=True)
        self.head = nn.Linear(d, 2)

    def forward(self, ids, lens):
        h, _ = self.rnn(self.emb(ids))
        return torch.softmax(self.head(h[torch.arange(len(ids)), lens - 1]), -1)


class Batcher(threading.Thread):
    def __init__(self, model):
        super().__init__(daemon=True)
        self.model, self.inbox = model, queue.Queue()
        self.sizes = []

    def submit(self, tokens):
        box = queue.Queue(maxsize=1)
        self.inbox.put((tokens, box))
        return box.get()

    def collect(self):
        items = [self.inbox.get()]
        deadline = time.monotonic() + MAX_WAIT
        while len(items) < MAX_BATCH:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                items.append(self.inbox.get(timeout=left))
            except queue.Empty:
                break
        return items

    def run(self):
        while True:
            items = self.collect()
            lens = torch.tensor([len(t) for t, _ in items])
            ids = torch.zeros(len(items), int(lens.max()), dtype=torch.long)
            for row, (t, _) in enumerate(items):
                ids[row, : len(t)] = torch.tensor(t)
            with torch.inference_mode():
                probs = self.model(ids, lens).tolist()
            self.sizes.append(len(items))
            for (_, box), p in zip(items, probs):
                box.put(p)


def client(batcher, n, seed, lat):
    r = random.Random(seed)
    for _ in range(n):
        toks = [r.randrange(5000) for _ in range(r.randint(30, 40))]
        t = time.perf_counter()
        batcher.submit(toks)
        lat.append(time.perf_counter() - t)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--clients", type=int, default=6)
    ap.add_argument("--requests", type=int, default=150)
    a = ap.parse_args()
    torch.manual_seed(0)
    b = Batcher(Scorer().eval())
    b.start()
    lat = []
    threads = [threading.Thread(target=client, args=(b, a.requests, s, lat)) for s in range(a.clients)]
    t0 = time.perf_counter()
    [t.start() for t in threads]
    [t.join() for t in threads]
    dt = time.perf_counter() - t0
    lat.sort()
    print(f"{len(lat) / dt:.1f} req/s  p50 {1e3 * statistics.median(lat):.1f} ms  p99 {1e3 * lat[int(0.99 * len(lat))]:.1f} ms"
          f"  mean batch {statistics.mean(b.sizes):.1f} in {len(b.sizes)} batches")


if __name__ == "__main__":
    main()
