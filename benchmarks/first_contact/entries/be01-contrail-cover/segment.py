import argparse
import copy
import logging
import time

import torch
import torch.nn.functional as F

from contrails.pyramid import ContrailNet
from contrails.scenes import SceneArchive

log = logging.getLogger("contrails")


def options():
    p = argparse.ArgumentParser(description="contrail cover and heading from infrared scenes")
    p.add_argument("--scenes", type=int, default=960)
    p.add_argument("--held-out", type=int, default=96)
    p.add_argument("--side", type=int, default=96)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--heading-weight", type=float, default=0.5)
    p.add_argument("--ema", type=float, default=0.995)
    p.add_argument("--seed", type=int, default=4)
    p.add_argument("--save", default="contrails.pt")
    return p.parse_args()


def cover_loss(logit, mask):
    bce = F.binary_cross_entropy_with_logits(logit, mask)
    p = logit.sigmoid()
    overlap = (p * mask).sum((1, 2))
    dice = 1 - (2 * overlap + 1) / (p.sum((1, 2)) + mask.sum((1, 2)) + 1)
    return bce + dice.mean()


def heading_loss(vector, heading, mask):
    gap = (vector - heading).square().sum(1)
    return (gap * mask).sum() / mask.sum().clamp(min=1)


class Averaged:
    def __init__(self, net, decay):
        self.net = copy.deepcopy(net).requires_grad_(False).eval()
        self.decay = decay

    @torch.no_grad()
    def follow(self, net):
        torch._foreach_lerp_(list(self.net.parameters()), list(net.parameters()), 1 - self.decay)
        for mine, theirs in zip(self.net.buffers(), net.buffers()):
            mine.copy_(theirs)


class Overlap:
    def __init__(self):
        self.both = torch.zeros(())
        self.either = torch.zeros(())

    def add(self, logit, mask):
        guess, truth = logit > 0, mask > 0.5
        self.both += (guess & truth).sum()
        self.either += (guess | truth).sum()

    def value(self):
        return (self.both / self.either.clamp(min=1)).item()


@torch.no_grad()
def validate(net, archive, batch):
    iou = Overlap()
    off = []
    for image, mask, heading in archive.batches(batch):
        logit, vector = net(image)
        iou.add(logit, mask)
        off.append(heading_loss(vector, heading, mask))
    return iou.value(), torch.stack(off).mean().item()


def main():
    o = options()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(o.seed)
    archive = SceneArchive(o.scenes, o.side, o.seed)
    held_out = SceneArchive(o.held_out, o.side, o.seed + 1)
    net = ContrailNet().to(memory_format=torch.channels_last)
    averaged = Averaged(net, o.ema)
    optimizer = torch.optim.AdamW(net.parameters(), lr=o.lr, weight_decay=1e-2, fused=True)
    steps = o.epochs * (o.scenes // o.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=o.lr, total_steps=steps)
    gen = torch.Generator().manual_seed(o.seed)
    step = 0
    for epoch in range(o.epochs):
        net.train()
        iou = Overlap()
        began = time.time()
        for image, mask, heading in archive.batches(o.batch, gen):
            logit, vector = net(image)
            on_cover = cover_loss(logit, mask)
            on_heading = o.heading_weight * heading_loss(vector, heading, mask)
            optimizer.zero_grad()
            on_cover.backward(retain_graph=True)
            on_heading.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            averaged.follow(net)
            iou.add(logit.detach(), mask)
            step += 1
            if step % 20 == 0:
                log.info("step %5d cover %.4f heading %.4f iou %.3f", step, on_cover.item(), on_heading.item(), iou.value())
        held_iou, held_off = validate(averaged.net, held_out, o.batch)
        log.info("epoch %d: %.1f s, held-out iou %.3f heading %.4f", epoch, time.time() - began, held_iou, held_off)
        torch.save({"net": averaged.net.state_dict(), "epoch": epoch}, o.save)


if __name__ == "__main__":
    main()
