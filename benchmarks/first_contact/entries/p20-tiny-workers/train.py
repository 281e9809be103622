import argparse
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Readings(Dataset):
    def __init__(self, n, d):
        self.x = torch.randn(n, d)
        self.y = (self.x[:, :4].prod(1) > 0).long()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class MLP(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 2))

    def forward(self, x):
        return self.layers(x)


def train(args):
    torch.manual_seed(args.seed)
    loader = DataLoader(Readings(args.rows, 32), batch_size=args.batch_size, shuffle=True,
                        num_workers=args.workers, drop_last=True)
    model = MLP(32, 128)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        start = time.time()
        loss_sum, correct, seen = 0.0, 0, 0
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            loss = criterion(out, y)
            loss.backward()
            optimizer.step()
            loss_sum += loss.item()
            correct += (out.argmax(1) == y).sum().item()
            seen += len(y)
        print(f"epoch {epoch}: loss {loss_sum / len(loader):.4f} acc {correct / seen:.3f} time {time.time() - start:.2f}s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rows", type=int, default=16 * 1000)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())
