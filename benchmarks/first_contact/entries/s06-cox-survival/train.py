"""Deep Cox regression on a simulated cohort."""
import argparse
import copy
from pathlib import Path

import torch

from cohort import Cohort, simulate
from network import RiskNet, concordance, cox_loss


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--epochs", type=int, default=36)
    p.add_argument("--patients", type=int, default=24000)
    p.add_argument("--batch-size", type=int, default=768)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--weight-decay", type=float, default=1e-2)
    p.add_argument("--patience", type=int, default=25)
    p.add_argument("--out", type=Path, default=Path("risk.pt"))
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


class Best:
    """Remembers the best weights and says when to stop."""

    def __init__(self, patience):
        self.patience, self.score, self.epoch, self.state = patience, float("-inf"), 0, None

    def update(self, score, epoch, model):
        if score > self.score:
            self.score, self.epoch = score, epoch
            self.state = copy.deepcopy(model.state_dict())
        return epoch - self.epoch >= self.patience


@torch.inference_mode()
def evaluate(model, cohort):
    model.eval()
    risk = model(cohort.numeric, cohort.categories)
    model.train()
    return concordance(risk, cohort.time, cohort.event)


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    train = Cohort(simulate(args.patients, seed=1))
    valid = Cohort(simulate(1200, seed=2), train.mean, train.std)
    test = Cohort(simulate(1200, seed=3), train.mean, train.std)

    model = RiskNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay, fused=True)
    steps = args.epochs * (len(train) // args.batch_size)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=steps)
    print(f"{len(train)} patients, {train.event.mean():.2f} with event, {sum(p.numel() for p in model.parameters())} parameters")

    best = Best(args.patience)
    for epoch in range(1, args.epochs + 1):
        total, count = torch.zeros(()), 0
        for numeric, categories, time, event in train.batches(args.batch_size, generator):
            loss = cox_loss(model(numeric, categories), time, event)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.detach()
            count += 1
        score = evaluate(model, valid)
        print(f"epoch {epoch:2d}  loss {total.item() / count:.4f}  valid C {score:.4f}", flush=True)
        if best.update(score, epoch, model):
            print(f"no better since epoch {best.epoch}, stopping")
            break

    model.load_state_dict(best.state)
    print(f"best epoch {best.epoch}: valid C {best.score:.4f}, test C {evaluate(model, test):.4f}")
    torch.save(best.state, args.out)


if __name__ == "__main__":
    main()
