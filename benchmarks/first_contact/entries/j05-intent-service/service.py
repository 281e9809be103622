"""Intent service: collects requests into micro-batches and answers them.

    python service.py --requests 12000

replays synthetic traffic as fast as the worker can take it and prints throughput.
"""
import argparse
import json
import queue
import threading
import time
from collections import Counter

import torch

from classifier import IntentModel
from tokenizer import Tokenizer
from traffic import INTENTS, messages, vocabulary


class Worker(threading.Thread):
    def __init__(self, model, tokenizer, inbox, outbox, max_batch=16, max_length=96):
        super().__init__(daemon=True)
        self.model = model.eval()
        self.tokenizer, self.inbox, self.outbox = tokenizer, inbox, outbox
        self.max_batch, self.max_length = max_batch, max_length
        self.batches = 0

    def collect(self):
        batch = [self.inbox.get()]
        while len(batch) < self.max_batch and batch[-1] is not None:
            try:
                batch.append(self.inbox.get_nowait())
            except queue.Empty:
                break
        return batch

    def run(self):
        running = True
        while running:
            batch = self.collect()
            running = batch[-1] is not None
            requests = [r for r in batch if r is not None]
            if requests:
                self.answer(requests)
                self.batches += 1
        self.outbox.put(None)

    def answer(self, requests):
        tokens, padding = self.tokenizer.batch([r.text for r in requests], self.max_length)
        logits, urgency = self.model(torch.tensor(tokens), torch.tensor(padding))
        probabilities = logits.softmax(1)
        for request, p, u in zip(requests, probabilities, urgency):
            ranked = sorted(((INTENTS[i], round(p[i].item(), 4)) for i in range(len(INTENTS))),
                            key=lambda pair: -pair[1])
            request.answer = {"id": request.id, "intents": dict(ranked[:3]),
                              "confidence": ranked[0][1], "urgent": bool(u.sigmoid() > 0.5)}
            self.outbox.put(json.dumps(request.answer))


@torch.no_grad()
def main():
    p = argparse.ArgumentParser()
    p.add_argument("--requests", type=int, default=12000)
    p.add_argument("--max-batch", type=int, default=16)
    p.add_argument("--queue", type=int, default=256)
    args = p.parse_args()

    torch.manual_seed(0)
    words = vocabulary(6000)
    tokenizer = Tokenizer(words)
    model = IntentModel(tokenizer.size, len(INTENTS))
    inbox, outbox = queue.Queue(args.queue), queue.Queue()
    traffic = list(messages(args.requests, words))
    worker = Worker(model, tokenizer, inbox, outbox, args.max_batch)
    worker.start()

    started = time.perf_counter()
    for request in traffic:
        inbox.put(request)
    inbox.put(None)
    top = Counter()
    while (line := outbox.get()) is not None:
        top[next(iter(json.loads(line)["intents"]))] += 1
    seconds = time.perf_counter() - started
    print(f"{sum(top.values())} answers in {worker.batches} batches, {seconds:.1f} s, "
          f"{seconds / worker.batches * 1e3:.1f} ms a batch, {args.requests / seconds:.0f} requests/s")
    print(top.most_common(3))


if __name__ == "__main__":
    main()
