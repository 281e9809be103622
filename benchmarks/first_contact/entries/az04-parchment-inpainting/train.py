import argparse
import copy
import random
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from leaves import HoledLeaves, make_leaves
from losses import PerceptualLoss, ssim
from models import Restorer, StrokeFeatures


class Ema:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.model.parameters():
            p.requires_grad_(False)

    def update(self, model):
        with torch.no_grad():
            for slow, fast in zip(self.model.parameters(), model.parameters()):
                slow.mul_(self.decay).add_(fast, alpha=1 - self.decay)


def psnr(output, target):
    return 10 * torch.log10(4.0 / F.mse_loss(output, target))


def validate(model, pages, masks):
    with torch.no_grad():
        output = torch.cat([model(p, m) for p, m in zip(pages.split(32), masks.split(32))])
        return psnr(output, pages).item(), ssim(output, pages).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--leaves", type=int, default=1200)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=6)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--lr", type=float, default=4e-4)
    parser.add_argument("--w-perceptual", type=float, default=0.4)
    parser.add_argument("--w-ssim", type=float, default=0.3)
    opt = parser.parse_args()

    random.seed(0)
    torch.manual_seed(0)
    held = HoledLeaves(make_leaves(96, opt.size, 2))
    pages, masks = map(torch.stack, zip(*[held[i] for i in range(len(held))]))
    loader = DataLoader(HoledLeaves(make_leaves(opt.leaves, opt.size, 1)), batch_size=opt.batch_size, shuffle=True, drop_last=True)

    model = Restorer()
    ema = Ema(model, 0.995)
    features = StrokeFeatures()
    features.load_state_dict(torch.load("features.pt"))
    perceptual = PerceptualLoss(features)
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr, betas=(0.5, 0.99))

    iteration = 0
    for epoch in range(opt.epochs):
        start = time.time()
        model.train()
        for page, mask in loader:
            output = model(page, mask)
            l1 = F.l1_loss(output, page)
            p_loss = perceptual(output, page)
            s_loss = 1 - ssim(output, page)
            loss = l1 + opt.w_perceptual * p_loss + opt.w_ssim * s_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            ema.update(model)
            iteration += 1
            if iteration % 20 == 0:
                print("iter %d l1 %.4f perceptual %.4f ssim %.4f" % (iteration, l1.item(), p_loss.item(), 1 - s_loss.item()), flush=True)
        score = validate(ema.model, pages, masks)
        print("epoch %d psnr %.2f ssim %.4f, %.0f s" % (epoch, *score, time.time() - start), flush=True)
        torch.save({"model": model.state_dict(), "ema": ema.model.state_dict()}, "restorer.pth")


if __name__ == "__main__":
    main()
