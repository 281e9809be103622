import argparse
import csv
import time

import torch
from torch.utils.data import DataLoader

from metric import CrossBatchMemory, Embedder, MarginLoss
from wood import SiteBatchSampler, WoodSpectra, load_wood


class Trainer:
    def __init__(self, args):
        self.args = args
        (spectra, site), held = load_wood("wood.npz", args.held_sites)
        sampler = SiteBatchSampler(site, args.sites, args.samples, args.batches, seed=args.seed)
        self.train_loader = DataLoader(WoodSpectra(spectra, site, noise=0.1), batch_sampler=sampler)
        self.held_loader = DataLoader(WoodSpectra(*held), batch_size=256)
        self.model = Embedder(spectra.shape[1])
        self.memory = CrossBatchMemory(args.memory, 32)
        self.criterion = MarginLoss()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=1e-3)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 1, 0.9)
        self.log = csv.writer(open("log.csv", "w"))

    def train_step(self, spectra, sites):
        embeddings = self.model(spectra)
        loss = self.criterion(embeddings, sites, embeddings, sites)
        if len(self.memory) > 0:
            loss = loss + self.criterion(embeddings, sites, self.memory.embeddings, self.memory.sites)
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 10.0)
        self.optimizer.step()
        self.memory.push(embeddings, sites)
        return loss.item(), norm.item()

    @torch.no_grad()
    def recall(self):
        self.model.eval()
        pairs = [(self.model(x), s) for x, s in self.held_loader]
        self.model.train()
        e, s = torch.cat([p[0] for p in pairs]), torch.cat([p[1] for p in pairs])
        nearest = (e @ e.t()).fill_diagonal_(-1).argmax(dim=1)
        return (s[nearest] == s).float().mean().item()

    def run(self):
        for epoch in range(self.args.epochs):
            start = time.time()
            for i, (spectra, sites) in enumerate(self.train_loader):
                loss, norm = self.train_step(spectra, sites)
                self.log.writerow([epoch, i, f"{loss:.5f}", f"{norm:.4f}"])
                if i % 25 == 0:
                    print(f"epoch {epoch} batch {i} loss {loss:.4f} grad {norm:.3f}", flush=True)
            self.scheduler.step()
            print(f"epoch {epoch} recall@1 {self.recall():.4f} in {time.time() - start:.1f} s", flush=True)
            torch.save(self.model.state_dict(), "embedder.pt")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--sites", type=int, default=16)
    p.add_argument("--samples", type=int, default=8)
    p.add_argument("--batches", type=int, default=150)
    p.add_argument("--epochs", type=int, default=15)
    p.add_argument("--memory", type=int, default=1024)
    p.add_argument("--held-sites", type=int, default=20)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--seed", type=int, default=9)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    Trainer(args).run()
