# Convolutional VAE on synthetic sprites. Everything fits in memory, so the loader stays in-process.
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

CFG = dict(n=3840, batch=64, epochs=16, latent=24, width=24, lr=1e-3, ema=0.995, seed=3, ckpt="vae_ema.pt")


def sprites(n, g):
    ys, xs = torch.meshgrid(torch.linspace(-1, 1, 32), torch.linspace(-1, 1, 32), indexing="ij")
    cx, cy = torch.rand(2, n, 1, 1, generator=g) * 1.2 - 0.6
    r = torch.rand(n, 1, 1, generator=g) * 0.3 + 0.15
    disc = torch.sigmoid((r - ((xs - cx) ** 2 + (ys - cy) ** 2).sqrt()) * 25)
    return disc.unsqueeze(1)


class VAE(nn.Module):
    def __init__(self, latent, w):
        super().__init__()
        self.enc = nn.ModuleList([
            nn.Conv2d(1, w, 4, 2, 1), nn.Conv2d(w, 2 * w, 4, 2, 1), nn.Conv2d(2 * w, 2 * w, 4, 2, 1)])
        self.stats = nn.Linear(2 * w * 16, 2 * latent)
        self.up = nn.Linear(latent, 2 * w * 16)
        self.dec = nn.ModuleList([
            nn.ConvTranspose2d(2 * w, 2 * w, 4, 2, 1), nn.ConvTranspose2d(2 * w, w, 4, 2, 1)])
        self.out = nn.ConvTranspose2d(w, 1, 4, 2, 1)
        self.w = w

    def forward(self, x):
        h = x
        for conv in self.enc:
            h = F.relu(conv(h))
        mu, logvar = self.stats(h.flatten(1)).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        h = self.up(z).view(-1, 2 * self.w, 4, 4)
        for conv in self.dec:
            h = F.relu(conv(h))
        return self.out(h), mu, logvar


def elbo(logits, x, mu, logvar, beta):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / x.size(0)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec + beta * kl


def main():
    torch.manual_seed(CFG["seed"])
    g = torch.Generator().manual_seed(CFG["seed"])
    train = TensorDataset(sprites(CFG["n"], g))
    test = sprites(512, g)
    loader = DataLoader(train, batch_size=CFG["batch"], shuffle=True, drop_last=True, num_workers=0)

    model = VAE(CFG["latent"], CFG["width"]).to(memory_format=torch.channels_last)
    ema = VAE(CFG["latent"], CFG["width"]).to(memory_format=torch.channels_last).requires_grad_(False).eval()
    ema.load_state_dict(model.state_dict())
    live, shadow = list(model.parameters()), list(ema.parameters())
    opt = torch.optim.AdamW(live, lr=CFG["lr"], fused=True)

    it, total = 0, CFG["epochs"] * len(loader)
    for epoch in range(CFG["epochs"]):
        for (x,) in loader:
            beta = min(1.0, it / (0.3 * total))
            loss = elbo(*insert_x(model(x), x), beta)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(live, 50.0)
            opt.step()
            with torch.no_grad():
                torch._foreach_lerp_(shadow, live, 1 - CFG["ema"])
            it += 1
            if it % 50 == 0:
                print(f"{it:5d}/{total} loss {loss.item():.2f} beta {beta:.2f}")
        if (epoch + 1) % 4 == 0:
            with torch.no_grad():
                val = elbo(*insert_x(ema(test), test), 1.0).item()
            print(f"epoch {epoch + 1} ema elbo {val:.2f}")
            torch.save(ema.state_dict(), CFG["ckpt"])


def insert_x(outputs, x):
    logits, mu, logvar = outputs
    return logits, x, mu, logvar


if __name__ == "__main__":
    main()
