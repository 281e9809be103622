import tempfile

import torch
import torch.nn.functional as F

from pkg.model import TCN
from pkg.tracker import RunTracker

config = {"sensors": 9, "classes": 6, "window": 128, "n": 5120, "batch": 32, "epochs": 6, "lr": 1e-3}


def sensor_windows(cfg, n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(cfg["classes"], (n,), generator=g)
    t = torch.arange(cfg["window"]) / 20.0
    phase = torch.rand(n, cfg["sensors"], 1, generator=g) * 6.28
    x = torch.sin(t * (1 + y.float())[:, None, None] + phase)
    return x + 0.4 * torch.randn(x.shape, generator=g), y


def grad_norm(model):
    return torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])


def run(cfg):
    torch.manual_seed(0)
    x, y = sensor_windows(cfg, cfg["n"], 0)
    vx, vy = sensor_windows(cfg, 256, 1)
    model = TCN(cfg["sensors"], cfg["classes"])
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    tracker = RunTracker(tempfile.mkdtemp(prefix="har-"), cfg)
    step = 0
    for epoch in range(cfg["epochs"]):
        for idx in torch.randperm(len(y)).split(cfg["batch"]):
            logits = model(x[idx])
            loss = F.cross_entropy(logits, y[idx])
            opt.zero_grad()
            loss.backward()
            norm = grad_norm(model)
            opt.step()
            acc = (logits.argmax(1) == y[idx]).float().mean()
            tracker.log_step(step=step, epoch=epoch, loss=loss.item(), acc=acc.item(), grad_norm=norm.item())
            step += 1
        model.eval()
        with torch.no_grad():
            valid = (model(vx).argmax(1) == vy).float().mean().item()
        model.train()
        tracker.log_epoch(epoch=epoch, valid_acc=valid)
        print(f"epoch {epoch} loss {loss.item():.4f} valid {valid:.3f} -> {tracker.path}")


if __name__ == "__main__":
    run(config)
