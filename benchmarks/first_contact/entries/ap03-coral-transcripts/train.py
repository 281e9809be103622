import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

cfg = dict(
    genes=1500, cells=15000, batch=128, latent=20, width=224, epochs=12, lr=1e-3,
    warm_epochs=4, reefs=5, seed=31, held=0.04,
)


def count_matrix(genes, cells, reefs, seed):
    """Unique molecules per gene and cell, genes in rows as the aligner writes its table, with the reef
    each cell was taken from. Heat stress moves some programmes of genes together."""
    rng = np.random.default_rng(seed)
    programmes = rng.gamma(0.3, 1.0, (genes, 9)).astype(np.float32)
    state = rng.dirichlet(np.full(9, 0.4), cells).astype(np.float32)
    reef = rng.integers(0, reefs, cells)
    shift = np.exp(0.3 * rng.standard_normal((genes, reefs))).astype(np.float32)
    depth = rng.lognormal(0.0, 0.4, cells).astype(np.float32)
    counts = np.empty((genes, cells), dtype=np.float32)
    for start in range(0, genes, 250):
        rate = programmes[start:start + 250] @ state.T
        rate *= shift[start:start + 250][:, reef] * depth
        counts[start:start + 250] = rng.poisson(rate)
    return torch.from_numpy(counts), torch.from_numpy(reef)


class CoralVAE(nn.Module):
    def __init__(self, genes, latent, width, reefs):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(genes, width), nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(),
        )
        self.mean, self.log_var = nn.Linear(width, latent), nn.Linear(width, latent)
        self.reef = nn.Embedding(reefs, 8)
        self.decoder = nn.Sequential(
            nn.Linear(latent + 8, width), nn.ReLU(), nn.Linear(width, width), nn.LayerNorm(width), nn.ReLU(),
        )
        self.share = nn.Linear(width, genes)
        self.log_r = nn.Parameter(torch.zeros(genes))

    def forward(self, x, reef):
        h = self.encoder(torch.log1p(x))
        mean, log_var = self.mean(h), self.log_var(h).clamp(-8, 4)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_var)
        h = self.decoder(torch.cat([z, self.reef(reef)], 1))
        log_mu = F.log_softmax(self.share(h), 1) + x.sum(1, keepdim=True).clamp_min(1).log()
        return log_mu, mean, log_var


def nb_log_likelihood(x, log_mu, log_r):
    r = log_r.exp()
    log_total = torch.logaddexp(log_mu, log_r)
    return (
        torch.lgamma(x + r) - torch.lgamma(r) - torch.lgamma(x + 1)
        + r * (log_r - log_total) + x * (log_mu - log_total)
    ).sum(1)


def negative_elbo(model, x, reef, beta):
    log_mu, mean, log_var = model(x, reef)
    likelihood = nb_log_likelihood(x, log_mu, model.log_r)
    kl = 0.5 * (mean ** 2 + log_var.exp() - 1 - log_var).sum(1)
    return (beta * kl - likelihood).mean(), kl.mean()


def main():
    torch.manual_seed(cfg["seed"])
    counts, reef = count_matrix(cfg["genes"], cfg["cells"], cfg["reefs"], cfg["seed"])
    print(f"{counts.size(0)} genes, {counts.size(1)} cells, {(counts == 0).float().mean():.0%} zeros", flush=True)
    order = torch.randperm(counts.size(1))
    held = order[:int(cfg["held"] * len(order))]
    train = order[len(held):]

    model = CoralVAE(cfg["genes"], cfg["latent"], cfg["width"], cfg["reefs"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=1e-4, fused=True)
    steps_per_epoch = len(train) // cfg["batch"]
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, cfg["lr"], total_steps=cfg["epochs"] * steps_per_epoch, pct_start=0.1,
    )

    for epoch in range(cfg["epochs"]):
        model.train()
        beta = min(1.0, (epoch + 1) / cfg["warm_epochs"])
        shuffled = train[torch.randperm(len(train))]
        losses = []
        for number in range(steps_per_epoch):
            cells = shuffled[number * cfg["batch"]:(number + 1) * cfg["batch"]]
            x = counts[:, cells].T
            loss, kl = negative_elbo(model, x, reef[cells], beta)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 20.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.detach())

        model.eval()
        with torch.no_grad():
            value, kl = negative_elbo(model, counts[:, held].T, reef[held], 1.0)
        mean = torch.stack(losses).mean().item()
        if not math.isfinite(mean):
            raise RuntimeError("diverged")
        print(f"{epoch:3d}  train {mean:9.2f}  held {value.item():9.2f}  kl {kl.item():6.2f}", flush=True)

    torch.save({"cfg": cfg, "model": model.state_dict()}, "coral_vae.pt")


if __name__ == "__main__":
    main()
