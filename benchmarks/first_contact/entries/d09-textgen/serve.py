"""Answers completion requests from a queue, one at a time, and reports latencies."""
import argparse
import queue
import random
import statistics
import threading
import time

import torch

from model import TinyGPT

WORDS = [f"tok{i}" for i in range(6000)]
INDEX = {w: i for i, w in enumerate(WORDS)}


class Generator:
    def __init__(self, temperature=0.8, top_k=50, seed=0):
        torch.manual_seed(seed)
        self.model = TinyGPT(vocab=len(WORDS)).eval()
        self.temperature, self.top_k = temperature, top_k

    def pick(self, logits):
        values, ids = (logits / self.temperature).topk(self.top_k)
        return ids[torch.multinomial(values.softmax(-1), 1)]

    @torch.inference_mode()
    def complete(self, prompt, max_new):
        ids = torch.tensor([[INDEX[w] for w in prompt.split()]])
        for _ in range(max_new):
            logits, _ = self.model(ids[:, -self.model.context :])
            nxt = self.pick(logits[0, -1])
            ids = torch.cat([ids, nxt.view(1, 1)], dim=1)
        return " ".join(WORDS[i] for i in ids[0].tolist())


def client(requests, n, seed):
    rng = random.Random(seed)
    for i in range(n):
        prompt = " ".join(rng.choices(WORDS, k=rng.randint(24, 40)))
        requests.put((i, prompt, time.perf_counter()))
    requests.put(None)


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("--requests", type=int, default=900)
    ap.add_argument("--max-new", type=int, default=12)
    ap.add_argument("--report-every", type=int, default=150)
    args = ap.parse_args()

    gen = Generator()
    requests = queue.Queue(maxsize=8)
    threading.Thread(target=client, args=(requests, args.requests, 1), daemon=True).start()
    service, waited, words = [], [], 0
    began = time.perf_counter()
    while (item := requests.get()) is not None:
        number, prompt, arrived = item
        start = time.perf_counter()
        text = gen.complete(prompt, args.max_new)
        service.append(time.perf_counter() - start)
        waited.append(start - arrived)
        words += args.max_new
        if (number + 1) % args.report_every == 0:
            p50 = statistics.median(service[-args.report_every :]) * 1e3
            p95 = sorted(service[-args.report_every :])[int(0.95 * args.report_every)] * 1e3
            print(f"{number + 1} requests  p50 {p50:.1f} ms  p95 {p95:.1f} ms  {words / (time.perf_counter() - began):.0f} tok/s")
    print("last answer:", text[:60], "...")


if __name__ == "__main__":
    main()
