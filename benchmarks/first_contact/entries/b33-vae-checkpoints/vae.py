"""VAE on synthetic spectra (1-d), for the lab's anomaly screening."""
import os, time, glob
from types import SimpleNamespace
import torch
from torch import nn
from torch.nn import functional as F

opt = SimpleNamespace(n=6000, bins=512, hidden=1024, latent=12, batch=32, epochs=6, lr=1e-3, beta=0.5,
                      save_every=4, keep=3, dir="checkpoints", seed=0)


def spectra(n, bins):
    grid = torch.linspace(0, 1, bins)
    out = torch.zeros(n, bins)
    for _ in range(4):
        mu, w, h = torch.rand(n, 1), 0.01 + 0.03 * torch.rand(n, 1), torch.rand(n, 1)
        out += h * torch.exp(-0.5 * ((grid - mu) / w) ** 2)
    out += 0.2 * torch.exp(-3 * grid)
    return out / out.amax(1, keepdim=True)


class VAE(nn.Module):
    def __init__(self, d, h, z):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU())
        self.mu, self.logvar = nn.Linear(h, z), nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, d))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


def elbo(x, logits, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec + opt.beta * kl, rec, kl


class Checkpointer:
    def __init__(self, folder, keep):
        self.folder, self.keep = folder, keep
        os.makedirs(folder, exist_ok=True)

    def save(self, step, model, optim, sched, loss):
        path = os.path.join(self.folder, f"step_{step:06d}.pth")
        torch.save({"step": step, "model": model.state_dict(), "optim": optim.state_dict(), "sched": sched.state_dict(), "loss": loss}, path)
        for old in sorted(glob.glob(os.path.join(self.folder, "step_*.pth")))[:-self.keep]:
            os.remove(old)


def main():
    torch.manual_seed(opt.seed)
    x = spectra(opt.n, opt.bins)
    train, val = x[:-600], x[-600:]
    model = VAE(opt.bins, opt.hidden, opt.latent)
    optim = torch.optim.Adam(model.parameters(), lr=opt.lr)
    sched = torch.optim.lr_scheduler.StepLR(optim, 200, 0.5)
    ckpt = Checkpointer(opt.dir, opt.keep)
    step = 0
    for epoch in range(opt.epochs):
        t0, agg = time.time(), torch.zeros(3)
        batches = torch.randperm(len(train)).split(opt.batch)
        for idx in batches:
            xb = train[idx]
            loss, rec, kl = elbo(xb, *model(xb))
            optim.zero_grad()
            loss.backward()
            optim.step()
            sched.step()
            agg += torch.stack([loss, rec, kl]).detach()
            step += 1
            if step % opt.save_every == 0:
                ckpt.save(step, model, optim, sched, loss.item())
        model.eval()
        with torch.no_grad():
            v = elbo(val, *model(val))[0].item()
        model.train()
        l, r, k = (agg / len(batches)).tolist()
        print(f"epoch {epoch} loss {l:.2f} rec {r:.2f} kl {k:.2f} val {v:.2f} {time.time() - t0:.1f}s")


if __name__ == "__main__":
    main()
