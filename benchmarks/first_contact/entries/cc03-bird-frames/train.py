"""Train the bird-call frame tagger."""
import argparse
import logging
import os

import torch
import torch.nn.functional as F

from recordings import Recorder
from tagger import FrameTagger

log = logging.getLogger("birds")


def cli():
    p = argparse.ArgumentParser()
    p.add_argument("--recordings", type=int, default=360)
    p.add_argument("--held-out", type=int, default=36)
    p.add_argument("--frames", type=int, default=512)
    p.add_argument("--calls", type=int, default=12)
    p.add_argument("--mels", type=int, default=40)
    p.add_argument("--species", type=int, default=12)
    p.add_argument("--window", type=int, default=32)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--lr", type=float, default=1.5e-3)
    p.add_argument("--log-every", type=int, default=20)
    p.add_argument("--out", default="runs/birds")
    p.add_argument("--seed", type=int, default=8)
    return p.parse_args()


@torch.inference_mode()
def frame_f1(model, x, y, batch):
    model.eval()
    counts = torch.zeros(3)
    for a, b in zip(x.split(batch), y.split(batch)):
        found, truth = model(a) > 0, b > 0.5
        counts += torch.stack([(found & truth).sum(), found.sum(), truth.sum()])
    model.train()
    both, found, truth = counts.tolist()
    return 2 * both / max(1.0, found + truth)


def main():
    args = cli()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(args.seed)
    x, y = Recorder(args.species, args.mels, args.seed).record(args.recordings, args.frames, args.calls)
    vx, vy = Recorder(args.species, args.mels, args.seed + 1).record(args.held_out, args.frames, args.calls)
    model = FrameTagger(args.mels, args.species, window=args.window, max_frames=args.frames)
    per_epoch = args.recordings // args.batch
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.02, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * per_epoch)
    positive = torch.full((args.species,), 4.0)
    os.makedirs(args.out, exist_ok=True)
    step, best = 0, -1.0
    for epoch in range(args.epochs):
        for index in torch.randperm(args.recordings)[:per_epoch * args.batch].view(per_epoch, args.batch):
            loss = F.binary_cross_entropy_with_logits(model(x[index]), y[index], pos_weight=positive)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            step += 1
            if step % args.log_every == 0:
                log.info("step %d  loss %.5f", step, loss.item())
        score = frame_f1(model, vx, vy, args.batch)
        log.info("epoch %d  frame F1 %.4f", epoch + 1, score)
        if score > best:
            best = score
            torch.save(model.state_dict(), os.path.join(args.out, "best.pt"))


if __name__ == "__main__":
    main()
