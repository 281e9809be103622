"""Read number plates of 4 to 8 characters with a convolutional network and CTC."""
import argparse
from itertools import chain, repeat
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SequentialSampler

from plates import BLANK, Plates
from reader import PlateReader, edit_distance, greedy_decode


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--train-plates", type=int, default=6000)
    p.add_argument("--valid-plates", type=int, default=256)
    p.add_argument("--width", type=int, default=24)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--eval-every", type=int, default=250)
    p.add_argument("--out", type=Path, default=Path("plates.pt"))
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def batches_of(dataset, size, shuffle, generator=None):
    order = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
    # the sampler hands over whole batches of indices, so the data set is indexed once a batch
    return DataLoader(dataset, sampler=BatchSampler(order, size, drop_last=shuffle), batch_size=None)


@torch.inference_mode()
def evaluate(model, loader):
    model.eval()
    wrong, characters, exact, plates = 0, 0, 0, 0
    for images, texts, lengths in loader:
        images = images.contiguous(memory_format=torch.channels_last)
        for guess, text, n in zip(greedy_decode(model(images)), texts.tolist(), lengths.tolist()):
            distance = edit_distance(guess, text[:n])
            wrong, characters = wrong + distance, characters + n
            exact, plates = exact + (distance == 0), plates + 1
    model.train()
    return wrong / characters, exact / plates


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    train = Plates(args.train_plates, seed=1)
    train_loader = batches_of(train, args.batch_size, shuffle=True, generator=generator)
    valid_loader = batches_of(Plates(args.valid_plates, seed=2), 64, shuffle=False)

    model = PlateReader(args.width).to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps, pct_start=0.2)
    criterion = nn.CTCLoss(blank=BLANK, zero_infinity=True)
    print(f"{len(train)} plates, {sum(p.numel() for p in model.parameters())} parameters")

    running = torch.zeros(())
    endless = chain.from_iterable(repeat(train_loader))
    for step, (images, texts, lengths) in zip(range(1, args.steps + 1), endless):
        images = images.contiguous(memory_format=torch.channels_last)
        log_probs = model(images)
        columns = torch.full((len(images),), len(log_probs), dtype=torch.long)
        loss = criterion(log_probs, texts, columns, lengths)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()

        running += loss.detach()
        if step % 50 == 0:
            print(f"step {step:4d}  loss {running.item() / 50:.4f}", flush=True)
            running.zero_()
        if step % args.eval_every == 0 or step == args.steps:
            error, exact = evaluate(model, valid_loader)
            print(f"step {step:4d}  character error {error:.3f}  plates right {exact:.3f}", flush=True)
            torch.save({"model": model.state_dict(), "step": step, "error": error}, args.out)


if __name__ == "__main__":
    main()
