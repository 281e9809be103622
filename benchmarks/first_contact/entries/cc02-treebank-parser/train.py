import argparse
import os
import time

import torch

from parser_model import Parser
from treebank import Buckets, PAD, make_treebank


def get_args():
    ap = argparse.ArgumentParser(description="train the dependency parser")
    ap.add_argument("--sentences", type=int, default=4000)
    ap.add_argument("--dev-sentences", type=int, default=400)
    ap.add_argument("--min-len", type=int, default=8)
    ap.add_argument("--max-len", type=int, default=45)
    ap.add_argument("--batch-size", type=int, default=24)
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--clip", type=float, default=5.0)
    ap.add_argument("--log-every", type=int, default=25)
    ap.add_argument("--save", default="runs/parser.pt")
    ap.add_argument("--seed", type=int, default=1)
    return ap.parse_args()


def word_mask(words):
    mask = words != PAD
    mask[:, 0] = False
    return mask


class Trainer:
    def __init__(self, args):
        self.args = args
        self.train = Buckets(make_treebank(args.sentences, args.min_len, args.max_len, seed=10),
                             args.batch_size, seed=args.seed)
        self.dev = Buckets(make_treebank(args.dev_sentences, args.min_len, args.max_len, seed=11), 64)
        self.model = Parser(max_len=args.max_len + 1)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr, betas=(0.9, 0.95), fused=True)
        self.schedule = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.75 ** (1 / 200))
        self.step_no = 0
        self.best = 0.0

    def step(self, words, tags, heads, labels):
        mask = word_mask(words)
        arc_scores, label_scores = self.model(words, tags)
        arc_loss, label_loss = self.model.loss(arc_scores, label_scores, mask, heads, labels)
        loss = arc_loss + label_loss
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.args.clip)
        self.optimizer.step()
        self.schedule.step()
        return arc_loss.detach(), label_loss.detach()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        total = right = labelled = 0
        for words, tags, heads, labels in self.dev:
            mask = word_mask(words)
            got_heads, got_labels = self.model.decode(*self.model(words, tags))
            hit = (got_heads == heads) & mask
            total += int(mask.sum())
            right += int(hit.sum())
            labelled += int((hit & (got_labels == labels)).sum())
        self.model.train()
        return right / total, labelled / total

    def run(self):
        epoch, started = 0, time.time()
        while self.step_no < self.args.steps:
            epoch += 1
            for batch in self.train:
                arc_loss, label_loss = self.step(*batch)
                self.step_no += 1
                if self.step_no % self.args.log_every == 0:
                    print(f"step {self.step_no:5d}  arc {arc_loss.item():.5f}  label {label_loss.item():.5f}", flush=True)
                if self.step_no >= self.args.steps:
                    break
            uas, las = self.evaluate()
            print(f"epoch {epoch}: UAS {100 * uas:.2f}  LAS {100 * las:.2f}  ({time.time() - started:.0f} s)", flush=True)
            if las > self.best:
                self.best = las
                os.makedirs(os.path.dirname(self.args.save), exist_ok=True)
                torch.save(self.model.state_dict(), self.args.save)


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    trainer = Trainer(args)
    print(f"{len(trainer.train)} batches, {sum(p.numel() for p in trainer.model.parameters())} parameters")
    trainer.run()


if __name__ == "__main__":
    main()
