"""Regional rainfall-runoff model: one entity-aware LSTM for all basins."""
import argparse
import json
import logging
import time
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader

from runoff.data import FORCINGS, BasinWindows, Scaler, load_attributes, load_basin
from runoff.ealstm import RunoffModel
from runoff.metrics import kge, nse, nse_loss

log = logging.getLogger("runoff")


def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--run_dir", type=Path, default=Path("runs"))
    parser.add_argument("--seq_length", type=int, default=120)
    parser.add_argument("--hidden_size", type=int, default=64)
    parser.add_argument("--dropout", type=float, default=0.4)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--learning_rate", type=float, default=1e-3)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=100, help="updates per epoch")
    parser.add_argument("--clip_norm", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=200)
    return parser.parse_args()


def train_epoch(model, loader, optimizer, args, epoch):
    model.train()
    running = 0.0
    for step, (x_d, x_s, y, q_stds) in enumerate(loader, 1):
        optimizer.zero_grad()
        loss = nse_loss(model(x_d, x_s), y, q_stds)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip_norm)
        optimizer.step()
        running += loss.item()
        if step % 20 == 0:
            log.info("epoch %d iteration %d loss %.5f", epoch, step, running / step)
    return running / step


@torch.no_grad()
def evaluate(model, frames, attributes, scaler, args):
    model.eval()
    scores = {}
    for basin in sorted(frames):
        data = BasinWindows(frames, attributes, scaler, "val", args.seq_length, basins=[basin], every=30)
        obs, sim = [], []
        for x_d, x_s, y, _ in DataLoader(data, batch_size=256):
            sim.append(model(x_d, x_s).numpy())
            obs.append(y.numpy())
        obs = np.concatenate(obs).ravel() * scaler.q_std + scaler.q_mean
        sim = np.concatenate(sim).ravel() * scaler.q_std + scaler.q_mean
        scores[basin] = {"nse": float(nse(obs, sim)), "kge": float(kge(obs, sim))}
    return scores


def main():
    args = get_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    torch.manual_seed(args.seed)
    args.run_dir.mkdir(exist_ok=True)

    frames = {p.stem: load_basin(p) for p in sorted((args.data / "forcing").glob("*.csv"))}
    attributes = load_attributes(args.data)
    scaler = Scaler(frames)
    train_data = BasinWindows(frames, attributes, scaler, "train", args.seq_length)
    sampler = torch.utils.data.RandomSampler(train_data, num_samples=args.iterations * args.batch_size)
    loader = DataLoader(train_data, batch_size=args.batch_size, sampler=sampler)
    log.info("%d basins, %d training windows", len(frames), len(train_data))

    model = RunoffModel(len(FORCINGS), attributes.shape[1], args.hidden_size, args.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.learning_rate)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)

    history = []
    for epoch in range(1, args.epochs + 1):
        start = time.time()
        loss = train_epoch(model, loader, optimizer, args, epoch)
        scores = evaluate(model, frames, attributes, scaler, args)
        scheduler.step()
        median = float(np.median([s["nse"] for s in scores.values()]))
        log.info("epoch %d loss %.5f median NSE %.3f KGE %.3f (%.1f s)", epoch, loss, median,
                 float(np.median([s["kge"] for s in scores.values()])), time.time() - start)
        history.append({"epoch": epoch, "loss": loss, "basins": scores})
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}, args.run_dir / "last.pt")
    (args.run_dir / "history.json").write_text(json.dumps(history, indent=1))


if __name__ == "__main__":
    main()
