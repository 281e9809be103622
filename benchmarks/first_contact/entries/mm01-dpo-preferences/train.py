import argparse
import csv
import math
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from data import PreferenceCollator, PreferenceDataset
from dpo import DPOObjective
from model import CausalLM, LMConfig
from tokenizer import WordTokenizer


def parse_args():
    p = argparse.ArgumentParser(description="Direct preference optimisation of a small assistant model")
    p.add_argument("--data", type=Path, default=Path("data"))
    p.add_argument("--sft", type=Path, default=Path("data/sft.pt"))
    p.add_argument("--out", type=Path, default=Path("runs/dpo"))
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--lr", type=float, default=3e-5)
    p.add_argument("--warmup", type=int, default=20)
    p.add_argument("--beta", type=float, default=0.1)
    p.add_argument("--label-smoothing", type=float, default=0.0)
    p.add_argument("--max-length", type=int, default=192)
    p.add_argument("--max-prompt-length", type=int, default=96)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--seed", type=int, default=17)
    return p.parse_args()


def load_sft(path):
    state = torch.load(path, weights_only=True)
    model = CausalLM(LMConfig(**state["config"]))
    model.load_state_dict(state["model"])
    return model


def schedule(step, warmup, total):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


@torch.no_grad()
def evaluate(objective, loader):
    objective.policy.eval()
    sums, n = {}, 0
    for batch in loader:
        _, metrics = objective(batch)
        size = batch["input_ids"].shape[0] // 2
        for k, v in metrics.items():
            sums[k] = sums.get(k, 0.0) + v * size
        n += size
    objective.policy.train()
    return {k: float(v) / n for k, v in sums.items()}


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)

    tokenizer = WordTokenizer.load(args.data / "vocab.json")
    train_set = PreferenceDataset(args.data / "train.jsonl", tokenizer, args.max_length, args.max_prompt_length)
    valid_set = PreferenceDataset(args.data / "valid.jsonl", tokenizer, args.max_length, args.max_prompt_length)
    collate = PreferenceCollator(args.max_length)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True, collate_fn=collate)
    valid_loader = DataLoader(valid_set, args.batch_size, collate_fn=collate)

    policy = load_sft(args.sft)
    reference = load_sft(args.sft).eval().requires_grad_(False)
    objective = DPOObjective(policy, reference, args.beta, args.label_smoothing)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.0, fused=True)
    total = args.epochs * len(train_loader)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: schedule(s, args.warmup, total))

    print(f"{len(train_set)} pairs, {total} steps, {sum(p.numel() for p in policy.parameters()):,} parameters")
    log = open(args.out / "log.csv", "w", newline="")
    writer = csv.writer(log)
    writer.writerow(["step", "epoch", "loss", "margin", "accuracy", "grad_norm"])

    step, best, start = 0, 0.0, time.time()
    for epoch in range(args.epochs):
        for batch in train_loader:
            loss, metrics = objective(batch)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(policy.parameters(), args.clip)
            optimizer.step()
            scheduler.step()
            step += 1
            if step % args.log_every == 0:
                m = {k: v.item() for k, v in metrics.items()}
                writer.writerow([step, epoch, m["loss"], m["margin"], m["accuracy"], norm.item()])
                print(f"step {step:4d} loss {m['loss']:.4f} margin {m['margin']:.3f} acc {m['accuracy']:.2f} "
                      f"{(time.time() - start) / step * 1000:.0f} ms/step")
        log.flush()
        scores = evaluate(objective, valid_loader)
        print(f"epoch {epoch}: valid loss {scores['loss']:.4f} margin {scores['margin']:.3f} "
              f"accuracy {scores['accuracy']:.3f}")
        if scores["accuracy"] > best:
            best = scores["accuracy"]
            torch.save({"model": policy.state_dict(), "config": vars(policy.cfg), "epoch": epoch}, args.out / "best.pt")
    log.close()
    print(f"best accuracy {best:.3f}, {time.time() - start:.1f} s")


if __name__ == "__main__":
    main()
