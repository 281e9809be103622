import argparse
import json
import random
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from corpus import EOS, Collate, NewsDataset, Vocab, read
from model import PointerSummarizer


def parse_args():
    parser = argparse.ArgumentParser(description="Headlines with a pointer-generator")
    parser.add_argument("--data", default="data")
    parser.add_argument("--save", default="checkpoints")
    parser.add_argument("--vocab-size", type=int, default=6000)
    parser.add_argument("--max-src", type=int, default=120)
    parser.add_argument("--max-tgt", type=int, default=14)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--clip", type=float, default=2.0)
    parser.add_argument("--log-every", type=int, default=20)
    parser.add_argument("--seed", type=int, default=17)
    return parser.parse_args()


def lcs(a, b):
    row = [0] * (len(b) + 1)
    for x in a:
        previous = 0
        for j, y in enumerate(b, 1):
            keep = row[j]
            row[j] = previous + 1 if x == y else max(row[j], row[j - 1])
            previous = keep
    return row[-1]


def rouge_l(hypothesis, reference):
    common = lcs(hypothesis, reference)
    if common == 0:
        return 0.0
    p, r = common / len(hypothesis), common / len(reference)
    return 2 * p * r / (p + r)


def to_words(ids, vocab, oov):
    words = []
    for i in ids:
        if i == EOS:
            break
        words.append(vocab.words[i] if i < len(vocab) else oov[i - len(vocab)])
    return words


def evaluate(model, dev_set, vocab, args):
    model.eval()
    scores = []
    samples = []
    for item in dev_set:
        src = torch.tensor([item["src"]])
        src_ext = torch.tensor([item["src_ext"]])
        ids = model.greedy(src, src_ext, len(item["oov"]), args.max_tgt)[0].tolist()
        words = to_words(ids, vocab, item["oov"])
        scores.append(rouge_l(words, item["headline"]))
        samples.append({"hypothesis": " ".join(words), "reference": " ".join(item["headline"])})
    return sum(scores) / len(scores), samples


@torch.no_grad()
def dev_loss(model, loader):
    model.eval()
    losses = [model(batch).item() for batch in loader]
    return sum(losses) / len(losses)


def main():
    args = parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    save = Path(args.save)
    save.mkdir(exist_ok=True, parents=True)

    train_records = read(Path(args.data) / "train.jsonl")
    dev_records = read(Path(args.data) / "dev.jsonl")
    vocab = Vocab.build([r["article"] for r in train_records] + [r["headline"] for r in train_records], args.vocab_size)
    train_set = NewsDataset(train_records, vocab, args.max_src, args.max_tgt)
    dev_set = NewsDataset(dev_records, vocab, args.max_src, args.max_tgt)
    collate = Collate(args.max_src, args.max_tgt)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True, collate_fn=collate)
    dev_loader = DataLoader(dev_set, args.batch_size, collate_fn=collate)

    model = PointerSummarizer(len(vocab))
    print(f"vocabulary {len(vocab)}, {sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters")
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)

    best = 0.0
    for epoch in range(1, args.epochs + 1):
        model.train()
        start, running = time.time(), 0.0
        for step, batch in enumerate(train_loader, 1):
            optimizer.zero_grad()
            loss = model(batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            running += loss.item()
            if step % args.log_every == 0:
                print(f"epoch {epoch} step {step:4d} loss {running / args.log_every:.4f} {time.time() - start:.1f} s", flush=True)
                running = 0.0
        valid = dev_loss(model, dev_loader)
        rouge, samples = evaluate(model, dev_set, vocab, args)
        print(f"epoch {epoch} dev loss {valid:.4f} rouge-l {rouge:.4f}", flush=True)
        with open(save / f"dev-{epoch}.json", "w") as f:
            json.dump(samples, f, indent=1)
        if rouge >= best:
            best = rouge
            torch.save({"model": model.state_dict(), "vocab": vocab.words, "epoch": epoch}, save / "best.pt")


if __name__ == "__main__":
    main()
