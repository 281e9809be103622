from dataclasses import dataclass

import torch
from torch.nn.utils import clip_grad_norm_

from cabin import rides
from kalman import GustyFilter


@dataclass
class Plan:
    rides: int = 1536
    length: int = 20
    batch: int = 32
    hidden: int = 64
    epochs: int = 26
    lr: float = 3e-3
    clip: float = 5.0
    check_every: int = 5
    seed: int = 3


@torch.no_grad()
def check(model, data):
    model.eval()
    seen, context, truth = data
    log_likelihood, means = model(seen, context)
    angles = torch.cat([means, torch.ones_like(means[..., :1])], 2).flatten(0, 1)
    fit = torch.linalg.lstsq(angles, truth.flatten(0, 1)).solution
    error = (angles @ fit - truth.flatten(0, 1))[:, :2].square().mean().sqrt()
    model.train()
    return log_likelihood.mean().item(), error.item()


def train(plan: Plan):
    torch.manual_seed(plan.seed)
    seen, context, _ = rides(plan.rides, plan.length, plan.seed)
    held = rides(256, plan.length, plan.seed + 1)
    model = GustyFilter(states=5, readings=3, context=4, hidden=plan.hidden)
    optimizer = torch.optim.RAdam(model.parameters(), lr=plan.lr, foreach=True)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", factor=0.5, patience=1)
    print(sum(p.numel() for p in model.parameters()), "parameters", flush=True)

    for epoch in range(1, plan.epochs + 1):
        sums = torch.zeros(2)
        order = torch.randperm(plan.rides)
        for rows in order.split(plan.batch):
            log_likelihood, _ = model(seen[rows], context[rows])
            loss = -log_likelihood.mean()
            optimizer.zero_grad()
            loss.backward()
            norm = clip_grad_norm_(model.parameters(), plan.clip, foreach=True)
            if torch.isfinite(norm):
                optimizer.step()
            sums += torch.stack([loss.detach(), norm])
        mean, norm = (sums / (plan.rides // plan.batch)).tolist()
        print(f"epoch {epoch:2d}  loss {mean:.4f}  gradient {norm:.3f}", flush=True)
        if epoch % plan.check_every == 0:
            likelihood, error = check(model, held)
            plateau.step(likelihood)
            print(f"          held {likelihood:.4f}  angle error {error:.4f}", flush=True)
            torch.save({"plan": plan.__dict__, "model": model.state_dict()}, "sway.pt")


if __name__ == "__main__":
    train(Plan())
