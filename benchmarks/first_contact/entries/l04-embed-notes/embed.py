"""Embed every line of a text file and write the vectors next to it.

    python embed.py --input notes.txt --out-dir out

Writes out/vectors.f32 (rows of float32 in the order of the lines) and out/index.tsv (line, tokens, digest).
"""
import argparse
import hashlib
import os
import time

import torch

from corpus import ensure_corpus
from encoder import SentenceEncoder
from tokenizer import BPETokenizer

HERE = os.path.dirname(os.path.abspath(__file__))


def read_batches(path, size):
    batch = []
    with open(path) as f:
        for number, line in enumerate(f):
            line = line.strip()
            if not line:
                continue
            batch.append((number, line))
            if len(batch) == size:
                yield batch
                batch = []
    if batch:
        yield batch


def to_tensor(token_lists):
    longest = max(map(len, token_lists))
    return torch.tensor([t + [0] * (longest - len(t)) for t in token_lists])


class Writer:
    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self.vectors = open(os.path.join(folder, "vectors.f32"), "wb")
        self.index = open(os.path.join(folder, "index.tsv"), "w")

    def write(self, batch, tokens, vectors):
        self.vectors.write(vectors.contiguous().numpy().tobytes())
        for (number, line), t in zip(batch, tokens):
            digest = hashlib.sha1(line.encode()).hexdigest()[:12]
            self.index.write(f"{number}\t{len(t)}\t{digest}\n")
        self.vectors.flush()
        self.index.flush()

    def close(self):
        self.vectors.close()
        self.index.close()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--input", default=os.path.join(HERE, "notes.txt"))
    ap.add_argument("--out-dir", default=os.path.join(HERE, "out"))
    ap.add_argument("--lines", type=int, default=64000)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--checkpoint", default="")
    ap.add_argument("--log-every", type=int, default=50)
    args = ap.parse_args()

    ensure_corpus(args.input, args.lines)
    with open(args.input) as f:
        sample = [line for _, line in zip(range(4000), f)]
    tokenizer = BPETokenizer().fit(sample)
    torch.manual_seed(0)
    model = SentenceEncoder(tokenizer.vocab_size)
    if args.checkpoint:
        model.load_state_dict(torch.load(args.checkpoint, weights_only=True))
    model.eval()

    writer = Writer(args.out_dir)
    start, done, total_tokens = time.time(), 0, 0
    with torch.inference_mode():
        for i, batch in enumerate(read_batches(args.input, args.batch_size), 1):
            tokens = [tokenizer.encode(line) for _, line in batch]
            vectors = model(to_tensor(tokens))
            writer.write(batch, tokens, vectors)
            done += len(batch)
            total_tokens += sum(map(len, tokens))
            if i % args.log_every == 0:
                spent = time.time() - start
                print(f"{done} lines, {done / spent:.0f} lines/s, {total_tokens / spent:.0f} tokens/s", flush=True)
    writer.close()
    print(f"finished {done} lines in {time.time() - start:.1f} s")


if __name__ == "__main__":
    main()
