import argparse
import time

import torch
import torch.nn.functional as F

from clicknet import ClickNet, Spectrogram, mask_bands
from hydrophone import KINDS, Deployment, sea_noise, synthesise


def parse():
    p = argparse.ArgumentParser(description="tell porpoise clicks from other sounds")
    p.add_argument("--clips", type=int, default=2400)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--out", default="clicknet.pt")
    return p.parse_args()


@torch.inference_mode()
def validate(model, front, deployment):
    model.eval()
    table = torch.zeros(len(KINDS), len(KINDS), dtype=torch.long)
    for wave, label in deployment.plain(120):
        guess = model(front(wave)).argmax(1)
        table.index_put_((label, guess), torch.ones_like(label), accumulate=True)
    model.train()
    return table


def main():
    args = parse()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    train = Deployment(*synthesise(args.clips, args.seed), noise=sea_noise(20, args.seed + 1))
    held = Deployment(*synthesise(480, args.seed + 2))
    front = Spectrogram()
    model = ClickNet(len(KINDS)).to(memory_format=torch.channels_last)
    steps = args.epochs * (len(train) // args.batch)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2, fused=True)
    plan = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=steps)
    best = 0.0
    for epoch in range(args.epochs):
        began = time.time()
        total = torch.zeros(())
        count = 0
        for wave, label in train.batches(args.batch, gen):
            spec = mask_bands(front(wave), gen)
            loss = F.cross_entropy(model(spec), label, label_smoothing=0.05)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            plan.step()
            total += loss.detach()
            count += 1
        table = validate(model, front, held)
        accuracy = (table.diagonal().sum() / table.sum()).item()
        print(f"epoch {epoch:3d}  loss {total.item() / count:.4f}  held-out {accuracy:.3f}  {time.time() - began:.1f} s", flush=True)
        if accuracy > best:
            best = accuracy
            torch.save({"model": model.state_dict(), "epoch": epoch, "accuracy": accuracy}, args.out)


if __name__ == "__main__":
    main()
