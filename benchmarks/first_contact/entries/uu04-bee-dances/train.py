"""Learns to read waggle dances: from the spectrogram of the buzzing to the code of the dance."""
import argparse
import copy
import time

import torch
from torch.utils.data import DataLoader

from dances import PAD, TOKENS, Dances, LengthBatches, collate, mask_bands
from listener import Listener


class Average:
    """Exponential moving average of the weights; the averaged model is the one that is tested and kept."""

    def __init__(self, model, decay=0.98):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay
        self.mine = list(self.model.parameters())
        self.theirs = list(model.parameters())

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.mine, self.theirs, 1 - self.decay)


@torch.inference_mode()
def test(model, loader):
    """Share of dances read without a mistake, and of right tokens."""
    whole, right, count, dances = 0, 0, 0, 0
    for frames, counts, tokens in loader:
        memory, mask = model.encoder(frames, counts)
        goal = tokens[:, 1:]
        said = model.decoder.read(memory, mask, goal.shape[1])
        same = (said == goal) | (goal == PAD)
        whole += same.all(1).sum().item()
        right += ((said == goal) & (goal != PAD)).sum().item()
        count += (goal != PAD).sum().item()
        dances += len(goal)
    return whole / dances, right / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--own-share", type=float, default=0.3, help="highest share of the model's own guesses")
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--log-every", type=int, default=25)
    parser.add_argument("--seed", type=int, default=9)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    train_set, valid_set = Dances("dances_train.npz"), Dances("dances_valid.npz")
    train_loader = DataLoader(train_set, batch_sampler=LengthBatches(train_set, args.batch_size, seed=args.seed),
                              collate_fn=collate)
    valid_loader = DataLoader(valid_set, batch_size=80, collate_fn=collate)
    model = Listener(bands=48, tokens=TOKENS)
    average = Average(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    total = args.epochs * len(train_loader)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=total, pct_start=0.2)
    print(f"{len(train_set)} dances, {sum(p.numel() for p in model.parameters()):,} parameters, {total} steps")

    step, best = 0, 0.0
    for epoch in range(1, args.epochs + 1):
        model.train()
        began, running = time.time(), 0.0
        for frames, counts, tokens in train_loader:
            own_share = args.own_share * min(1.0, step / (0.5 * total))
            loss = model.loss(mask_bands(frames), counts, tokens, own_share)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            schedule.step()
            average.update()
            step += 1
            running += loss.item()
            if step % args.log_every == 0:
                print(f"step {step:4d} loss {running / args.log_every:.4f} norm {norm.item():.2f} "
                      f"own guesses {own_share:.2f}", flush=True)
                running = 0.0
        whole, right = test(average.model, valid_loader)
        print(f"epoch {epoch}: {time.time() - began:.1f} s, whole dances {whole:.3f}, tokens {right:.3f}", flush=True)
        if right > best:
            best = right
            torch.save({"model": average.model.state_dict(), "epoch": epoch}, "listener.pt")
    print(f"best share of right tokens {best:.3f}")


if __name__ == "__main__":
    main()
