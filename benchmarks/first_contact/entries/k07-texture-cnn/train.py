import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from pipeline import BatchPipeline, make_textures


def conv_bn(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = conv_bn(c, c)
        self.b = nn.Sequential(nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c))

    def forward(self, x):
        return F.relu_(self.b(self.a(x)) + x)


class TextureNet(nn.Module):
    def __init__(self, classes, w=16):
        super().__init__()
        self.body = nn.Sequential(conv_bn(3, w), conv_bn(w, 2 * w, 2), Residual(2 * w),
                                  conv_bn(2 * w, 4 * w, 2), Residual(4 * w))
        self.head = nn.Linear(4 * w, classes)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


@torch.inference_mode()
def accuracy(model, batches):
    model.eval()
    hits = torch.zeros((), dtype=torch.long)
    for x, y in batches:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            hits += (model(x).argmax(1) == y).sum()
    model.train()
    return hits.item() / len(batches.labels)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--log-every", type=int, default=25)
    args = ap.parse_args()
    torch.manual_seed(0)

    train = BatchPipeline(*make_textures(3200, seed=1), args.batch_size, 32, train=True)
    val = BatchPipeline(*make_textures(320, seed=2), 80, 32, train=False)
    model = TextureNet(10).to(memory_format=torch.channels_last)
    opt = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True, fused=True, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * len(train))

    t0, step = time.time(), 0
    for epoch in range(args.epochs):
        running = torch.zeros(())
        for x, y in train:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = F.cross_entropy(model(x), y, label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            running += loss.detach()
            step += 1
            if step % args.log_every == 0:
                print(f"epoch {epoch} step {step} loss {running.item() / args.log_every:.4f} "
                      f"{(time.time() - t0) / step * 1e3:.0f} ms/step", flush=True)
                running.zero_()
        print(f"epoch {epoch} val acc {accuracy(model, val):.4f}", flush=True)
    torch.save(model.state_dict(), "texturenet.pt")


if __name__ == "__main__":
    main()
