"""Score a batch of customer reviews and write the share of positive ones per product."""
import random
import time
from collections import defaultdict

import torch

from model import ReviewEncoder

MAX_LEN = 128
BATCH_SIZE = 16
N_REVIEWS = 48000

NOUNS = "battery screen case strap cable charger box manual lens button speaker hinge zip pocket sole".split()
GOOD = "great solid lovely reliable bright quick sturdy perfect handy comfortable".split()
BAD = "broken flimsy slow dull cracked noisy late useless wobbly disappointing".split()
GLUE = "the and it is was but a very with for this after my in of i they have not".split()


def load_reviews(n, seed=11):
    rng = random.Random(seed)
    reviews = []
    for i in range(n):
        length = min(MAX_LEN, max(5, int(rng.lognormvariate(3.3, 0.5))))
        mood = rng.choice((GOOD, BAD, GLUE))
        words = [rng.choice(rng.choice((NOUNS, mood, GLUE, GLUE))) for _ in range(length)]
        reviews.append({"product": f"P{rng.randrange(40):03d}", "text": " ".join(words)})
    return reviews


class Tokenizer:
    def __init__(self, texts):
        words = sorted({w for t in texts for w in t.split()})
        self.index = {w: i + 2 for i, w in enumerate(words)}

    def __len__(self):
        return len(self.index) + 2

    def __call__(self, texts, max_length):
        rows = []
        for text in texts:
            ids = [self.index.get(w, 1) for w in text.split()][:max_length]
            rows.append(ids + [0] * (max_length - len(ids)))
        return torch.tensor(rows)


def predict(model, tokenizer, texts):
    ids = tokenizer(texts, max_length=MAX_LEN)
    probs = model(ids).softmax(dim=-1)
    return probs.detach()


def main():
    torch.manual_seed(3)
    reviews = load_reviews(N_REVIEWS)
    tokenizer = Tokenizer([r["text"] for r in reviews])
    model = ReviewEncoder(len(tokenizer), max_len=MAX_LEN)
    model.eval()

    positive, count = defaultdict(float), defaultdict(int)
    latencies = []
    for start in range(0, len(reviews), BATCH_SIZE):
        chunk = reviews[start:start + BATCH_SIZE]
        began = time.perf_counter()
        probs = predict(model, tokenizer, [r["text"] for r in chunk])
        latencies.append(time.perf_counter() - began)
        for review, p in zip(chunk, probs[:, 2].tolist()):
            positive[review["product"]] += p
            count[review["product"]] += 1
        if len(latencies) % 100 == 0:
            print(f"{start + len(chunk)} reviews, {1000 * sum(latencies[-100:]) / 100:.1f} ms per batch")

    ranking = sorted(count, key=lambda k: positive[k] / count[k], reverse=True)
    for product in ranking[:10]:
        print(product, f"{positive[product] / count[product]:.4f}", count[product])


if __name__ == "__main__":
    main()
