import argparse
import time

import torch

from spectra import batches, kl_weight, make_spectra
from vae import SpectraVAE, elbo_terms


@torch.inference_mode()
def validate(model, data):
    model.eval()
    totals = torch.zeros(2)
    for x in batches(data, 500):
        totals += torch.stack(elbo_terms(*_with_input(model, x))) * len(x)
    model.train()
    return (totals / len(data)).tolist()


def _with_input(model, x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        recon, mu, logvar = model(x)
    return recon.float(), x, mu.float(), logvar.float()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=50)
    ap.add_argument("--batch-size", type=int, default=256)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--n-train", type=int, default=20000)
    ap.add_argument("--log-every", type=int, default=50)
    args = ap.parse_args()
    torch.manual_seed(0)

    train, val = make_spectra(args.n_train, seed=1), make_spectra(1000, seed=2)
    model = SpectraVAE()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    per_epoch = len(train) // args.batch_size
    total = args.epochs * per_epoch
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, total)
    gen = torch.Generator().manual_seed(3)

    step, t0, sums = 0, time.time(), torch.zeros(2)
    for epoch in range(args.epochs):
        for x in batches(train, args.batch_size, gen):
            rec, kl = elbo_terms(*_with_input(model, x))
            loss = rec + kl_weight(step, total) * kl
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            sums += torch.stack([rec.detach(), kl.detach()])
            step += 1
            if step % args.log_every == 0:
                r, k = (sums / args.log_every).tolist()
                print(f"epoch {epoch} step {step} rec {r:.2f} kl {k:.2f} {(time.time() - t0) / step * 1e3:.1f} ms/step",
                      flush=True)
                sums.zero_()
        if epoch % 5 == 4:
            print("epoch %d val rec %.2f kl %.2f" % (epoch, *validate(model, val)), flush=True)
    torch.save(model.state_dict(), "vae.pt")


if __name__ == "__main__":
    main()
