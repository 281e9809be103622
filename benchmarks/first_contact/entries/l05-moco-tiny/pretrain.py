"""Contrastive pretraining on small textured images, watched with a k-NN probe."""
import argparse
import math
import time

import torch
import torch.nn.functional as F

from moco import MoCo
from monitor import CollapseMonitor
from views import view


def make_images(count, classes, seed):
    """Every class is a mixture of two plane waves with its own colour; phases and noise vary."""
    g = torch.Generator().manual_seed(77)
    freq = torch.rand(classes, 2, 2, generator=g) * 5
    colour = torch.rand(classes, 3, 1, 1, generator=g)
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (count,), generator=g)
    grid = torch.stack(torch.meshgrid(torch.linspace(0, 1, 32), torch.linspace(0, 1, 32), indexing="ij"))
    phase = torch.rand(count, 2, 1, 1, generator=g) * 2 * math.pi
    waves = torch.sin(2 * math.pi * torch.einsum("nwd,dij->nwij", freq[y], grid) + phase).mean(1, keepdim=True)
    x = 0.5 * waves + colour[y] + 0.25 * torch.randn(count, 3, 32, 32, generator=g)
    return x - 0.5, y


@torch.inference_mode()
def knn_accuracy(encoder, bank, bank_y, test, test_y, k=20):
    encoder.eval()
    f = F.normalize(torch.cat([encoder.features(x) for x in bank.split(256)]), dim=1)
    t = F.normalize(torch.cat([encoder.features(x) for x in test.split(256)]), dim=1)
    encoder.train()
    near = (t @ f.t()).topk(k, dim=1).indices
    votes = F.one_hot(bank_y[near], int(bank_y.max()) + 1).sum(1)
    return (votes.argmax(1) == test_y).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--images", type=int, default=6400)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--queue-size", type=int, default=32768)
    ap.add_argument("--lr", type=float, default=0.06)
    ap.add_argument("--probe-every", type=int, default=2)
    args = ap.parse_args()

    torch.manual_seed(0)
    train_x, _ = make_images(args.images, 12, seed=1)
    bank_x, bank_y = make_images(1000, 12, seed=2)
    test_x, test_y = make_images(300, 12, seed=3)

    model = MoCo(queue_size=args.queue_size)
    opt = torch.optim.SGD(model.encoder.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4, fused=True)
    steps_per_epoch = args.images // args.batch_size
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs * steps_per_epoch)
    monitor = CollapseMonitor()
    for epoch in range(args.epochs):
        tic = time.time()
        running = torch.zeros(())
        for idx in torch.randperm(args.images)[: steps_per_epoch * args.batch_size].split(args.batch_size):
            x = train_x[idx]
            loss, keys = model(view(x), view(x))
            opt.zero_grad()
            loss.backward()
            opt.step()
            model.update_momentum_encoder()
            model.enqueue(keys)
            monitor.update(model.queue)
            sched.step()
            running += loss.detach()
        line = f"epoch {epoch:3d} loss {running.item() / steps_per_epoch:.4f} {monitor} [{time.time() - tic:.1f} s]"
        if (epoch + 1) % args.probe_every == 0:
            line += f" knn {knn_accuracy(model.encoder, bank_x, bank_y, test_x, test_y):.3f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
