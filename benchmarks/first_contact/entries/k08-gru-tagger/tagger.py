import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from corpus import TAGS, VOCAB, BucketedBatches, synthetic_corpus


class GRUTagger(nn.Module):
    def __init__(self, dim=64, hidden=128, drop=0.2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.gru = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(drop)
        self.out = nn.Linear(2 * hidden, len(TAGS))

    def forward(self, words, lengths):
        """logits of the real tokens only, in packed order"""
        packed = pack_padded_sequence(words, lengths, batch_first=True)
        h, _ = self.gru(PackedSequence(self.drop(self.embed(packed.data)), packed.batch_sizes))
        return self.out(self.drop(h.data))


def packed_tags(tags, lengths):
    return pack_padded_sequence(tags, lengths, batch_first=True).data


@torch.inference_mode()
def span_start_f1(model, batches):
    model.eval()
    tp = fp = fn = 0
    for words, tags, lengths in batches:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            pred = model(words, lengths).argmax(-1)
        gold = packed_tags(tags, lengths)
        begin_p, begin_g = (pred % 2 == 1), (gold % 2 == 1)
        right = (begin_p & (pred == gold)).sum()
        tp += right
        fp += begin_p.sum() - right
        fn += begin_g.sum() - right
    model.train()
    return (2 * tp / (2 * tp + fp + fn).clamp(min=1)).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch-size", type=int, default=48)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--clip", type=float, default=5.0)
    ap.add_argument("--log-every", type=int, default=50)
    args = ap.parse_args()
    torch.manual_seed(0)

    train = BucketedBatches(synthetic_corpus(5000, 1), args.batch_size, shuffle=True)
    val = BucketedBatches(synthetic_corpus(400, 2), 100, shuffle=False)
    model = GRUTagger()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3, fused=True)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs * len(train))

    t0, step = time.time(), 0
    for epoch in range(args.epochs):
        total, tokens = torch.zeros(()), 0
        for words, tags, lengths in train:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits = model(words, lengths)
            loss = F.cross_entropy(logits.float(), packed_tags(tags, lengths), reduction="sum")
            n = int(lengths.sum())
            opt.zero_grad()
            (loss / n).backward()
            nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            opt.step()
            sched.step()
            total += loss.detach()
            tokens += n
            step += 1
            if step % args.log_every == 0:
                print(f"epoch {epoch} step {step} loss {total.item() / tokens:.4f} "
                      f"{(time.time() - t0) / step * 1e3:.0f} ms/step", flush=True)
        print(f"epoch {epoch} val f1 {span_start_f1(model, val):.4f}", flush=True)
    torch.save(model.state_dict(), "tagger.pt")


if __name__ == "__main__":
    main()
