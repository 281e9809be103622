import time

import torch
import torch.nn.functional as F
from torch import nn

from names import BUCKETS, TONGUES, NameBook

CONFIG = {"names": 26_000, "held": 2_000, "width": 96, "batch": 600, "epochs": 50, "lr": 2e-3, "table_lr": 4e-3, "drop": 0.15}


class NameModel(nn.Module):
    def __init__(self, width, drop):
        super().__init__()
        self.bag = nn.EmbeddingBag(BUCKETS, width, mode="sum")
        self.trunk = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 256), nn.GELU(), nn.Dropout(drop), nn.Linear(256, 256), nn.GELU(),
        )
        self.tongue = nn.Linear(256, len(TONGUES))
        self.place = nn.Linear(256, 4)
        self.drop = drop

    def forward(self, grams, offsets):
        weights = None
        if self.training:        # whole n-grams are dropped, not single numbers
            weights = (torch.rand(len(grams)) >= self.drop).float() / (1 - self.drop)
        else:
            weights = torch.ones(len(grams))
        h = self.trunk(self.bag(grams, offsets, per_sample_weights=weights))
        where, log_scale = self.place(h).chunk(2, 1)
        return self.tongue(h), where, log_scale.clamp(-3, 3)


def objective(outputs, kinds, places):
    logits, where, log_scale = outputs
    distance = 0.5 * ((places - where) * torch.exp(-log_scale)).square() + log_scale
    return F.cross_entropy(logits, kinds, label_smoothing=0.05) + 0.3 * distance.sum(1).mean()


@torch.inference_mode()
def test(model, book, rows):
    model.eval()
    grams, offsets, kinds, places = book.batch(rows)
    logits, where, _ = model(grams, offsets)
    model.train()
    return (logits.argmax(1) == kinds).float().mean().item(), (where - places).square().sum(1).sqrt().mean().item()


def train(c):
    torch.manual_seed(30)
    book = NameBook(c["names"], seed=30)
    order = torch.randperm(c["names"])
    held, rows = order[: c["held"]], order[c["held"]:]
    model = NameModel(c["width"], c["drop"])
    dense = [p for name, p in model.named_parameters() if not name.startswith("bag.")]
    slow = torch.optim.AdamW(dense, lr=c["lr"], weight_decay=0.01, fused=True)
    fast = torch.optim.Adam(model.bag.parameters(), lr=c["table_lr"], fused=True)
    steps = len(rows) // c["batch"]
    plans = [torch.optim.lr_scheduler.CosineAnnealingLR(o, c["epochs"] * steps) for o in (slow, fast)]

    for epoch in range(1, c["epochs"] + 1):
        begun, sum_loss, worst = time.perf_counter(), 0.0, 0.0
        shuffled = rows[torch.randperm(len(rows))]
        for part in shuffled[: steps * c["batch"]].view(steps, c["batch"]):
            grams, offsets, kinds, places = book.batch(part)
            loss = objective(model(grams, offsets), kinds, places)
            slow.zero_grad()
            fast.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(dense, 2.0)
            slow.step()
            fast.step()
            for plan in plans:
                plan.step()
            value = loss.item()
            if value != value:
                raise FloatingPointError(f"loss is not a number in epoch {epoch}")
            worst = max(worst, norm.item())
            sum_loss += value
        right, off = test(model, book, held)
        print(f"{epoch:2d}/{c['epochs']} loss {sum_loss / steps:.4f} largest norm {worst:.2f} held {right:.3f}, {off:.2f} degrees"
              f" ({1000 * (time.perf_counter() - begun) / steps:.1f} ms a step)", flush=True)
    torch.save(model.state_dict(), "names.pt")


if __name__ == "__main__":
    train(CONFIG)
