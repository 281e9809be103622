import argparse

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

from readings import BurrowSeason, season


class DecayRecurrence(nn.Module):
    """A recurrent unit whose state fades between passages, faster in some units than in others
    (after GRU-D)."""

    def __init__(self, features, width):
        super().__init__()
        self.width = width
        self.embed = nn.Linear(features, width)
        self.cell = nn.GRUCell(width, width)
        self.fade = nn.Linear(1, width)

    def forward(self, table, gaps):
        batch, length, _ = table.shape
        x = torch.relu(self.embed(table))
        keep = torch.exp(-torch.relu(self.fade(gaps.unsqueeze(-1))))
        state = x.new_zeros(batch, self.width)
        states = x.new_zeros(batch, length, self.width)
        for t in range(length):
            state = self.cell(x[:, t], state * keep[:, t])
            states[:, t] = state
        return states


class BurrowModel(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.recurrence = DecayRecurrence(7, width)
        self.norm = nn.LayerNorm(width)
        self.next_mass = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, 2))
        self.fledge = nn.Linear(width, 1)

    def forward(self, table, gaps, count):
        states = self.norm(self.recurrence(table, gaps))
        last = states[torch.arange(len(count)), count - 1]
        return self.next_mass(states), self.fledge(last).squeeze(-1)


def objective(model, batch, weight):
    table, gaps, count, fledged = batch
    ahead, chick = model(table, gaps, count)
    inside = torch.arange(table.size(1) - 1) < (count - 1).unsqueeze(1)
    mean, log_scale = ahead[:, :-1].unbind(-1)
    nll = log_scale + 0.5 * ((table[:, 1:, 0] - mean) * torch.exp(-log_scale)) ** 2
    nll = (nll * inside).sum() / inside.sum()
    return nll + weight * F.binary_cross_entropy_with_logits(chick, fledged), chick


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--burrows", type=int, default=1280)
    parser.add_argument("--passages", type=int, default=40)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--fledge-weight", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=4)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    train_set = BurrowSeason(season(args.burrows, args.passages, args.seed), args.passages)
    valid_set = BurrowSeason(season(192, args.passages, args.seed + 1), args.passages)
    train_loader = DataLoader(train_set, batch_size=args.batch, shuffle=True, drop_last=True)
    valid_loader = DataLoader(valid_set, batch_size=96)

    model = BurrowModel(args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [args.epochs * 2 // 3], gamma=0.2)
    best = float("inf")
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        for batch in train_loader:
            loss, _ = objective(model, batch, args.fledge_weight)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running += loss.item()
        scheduler.step()
        print(f"epoch {epoch:2d}  train {running / len(train_loader):.4f}", flush=True)

        if epoch % 3 == 2:
            model.eval()
            with torch.no_grad():
                parts = [(*objective(model, batch, args.fledge_weight), batch[3]) for batch in valid_loader]
            value = sum(part[0].item() for part in parts) / len(parts)
            right = torch.cat([(part[1] > 0) == (part[2] > 0.5) for part in parts]).float().mean().item()
            print(f"          valid {value:.4f}  fledging right {right:.3f}", flush=True)
            if value < best:
                best = value
                torch.save(model.state_dict(), "puffins.pt")


if __name__ == "__main__":
    main()
