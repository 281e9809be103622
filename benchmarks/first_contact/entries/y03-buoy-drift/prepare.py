"""Draw the drift of a fleet of buoys and store it in an SQLite database."""
import argparse
import sqlite3
from pathlib import Path

import torch

from store import CONTROLS, OBSERVED


def simulate(buoys, hours, seed):
    g = torch.Generator().manual_seed(seed)
    hidden = 8
    rotation = torch.linalg.qr(torch.randn(hidden, hidden, generator=g))[0] * 0.95
    emit = torch.randn(hidden, len(OBSERVED), generator=g) / hidden ** 0.5
    first = torch.randn(len(CONTROLS), 16, generator=g) / 4
    second = torch.randn(16, hidden, generator=g) / 3
    state = torch.randn(buoys, hidden, generator=g)
    weather = torch.randn(buoys, len(CONTROLS), generator=g)
    rows = []
    for _ in range(hours):
        weather = 0.9 * weather + 0.4 * torch.randn(buoys, len(CONTROLS), generator=g)
        state = state @ rotation + torch.tanh(weather @ first) @ second + 0.1 * torch.randn(buoys, hidden, generator=g)
        rows.append(torch.cat([state @ emit + 0.1 * torch.randn(buoys, len(OBSERVED), generator=g), weather], 1))
    return torch.stack(rows, 1)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--buoys", type=int, default=200)
    p.add_argument("--hours", type=int, default=150)
    p.add_argument("--out", type=Path, default=Path(__file__).parent / "buoys.db")
    args = p.parse_args()
    values = simulate(args.buoys, args.hours, seed=4).mul(1e4).round().div(1e4)
    args.out.unlink(missing_ok=True)
    connection = sqlite3.connect(args.out)
    columns = ", ".join(f"{name} REAL" for name in OBSERVED + CONTROLS)
    connection.execute(f"CREATE TABLE fixes (buoy INTEGER, hour INTEGER, {columns}, PRIMARY KEY (buoy, hour)) WITHOUT ROWID")
    marks = ", ".join("?" * (2 + len(OBSERVED) + len(CONTROLS)))
    connection.executemany(f"INSERT INTO fixes VALUES ({marks})",
                           ((b, h, *map(lambda v: round(v, 4), hour)) for b, buoy in enumerate(values.tolist())
                            for h, hour in enumerate(buoy)))
    connection.commit()
    connection.close()


if __name__ == "__main__":
    main()
