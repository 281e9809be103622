"""Train a listwise ranker for answers and watch NDCG on held-out questions."""
import argparse
import json
import logging
from pathlib import Path

import torch

from losses import lambda_loss, listwise_loss, ndcg
from queries import RankingData
from ranker import ListRanker

log = logging.getLogger("ranker")


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=1000)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--listwise", type=float, default=0.3, help="weight of the listwise loss")
    p.add_argument("--eval-every", type=int, default=250)
    p.add_argument("--log-every", type=int, default=50)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", type=Path, default=Path("runs"))
    return p.parse_args()


@torch.inference_mode()
def evaluate(model, data):
    model.eval()
    values = [ndcg(model(*features, mask), grade) for *features, mask, grade in data.batches(200, shuffle=False)]
    model.train()
    return torch.stack(values).mean().item()


def parameter_groups(model, decay):
    groups = {True: [], False: []}
    for name, parameter in model.named_parameters():
        groups[parameter.ndim > 1 and "source" not in name and "author" not in name].append(parameter)
    return [{"params": groups[True], "weight_decay": decay}, {"params": groups[False], "weight_decay": 0.0}]


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(args.seed)
    args.out.mkdir(exist_ok=True)
    train, test = RankingData(4000, seed=1), RankingData(600, seed=2)
    model = ListRanker(train.numeric.shape[-1], *train.sizes)
    optimizer = torch.optim.AdamW(parameter_groups(model, 1e-2), lr=args.lr, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)

    step, best, history = 0, 0.0, []
    while step < args.steps:
        for *features, mask, grade in train.batches(args.batch_size, shuffle=True):
            step += 1
            scores = model(*features, mask)
            loss = lambda_loss(scores, grade, mask) + args.listwise * listwise_loss(scores, grade)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimizer.step()
            schedule.step()
            if step % args.log_every == 0:
                history.append({"step": step, "loss": loss.item(), "norm": norm.item()})
                log.info("step %(step)d loss %(loss).4f gradient %(norm).3f", history[-1])
            if step % args.eval_every == 0:
                value = evaluate(model, test)
                log.info("held out NDCG@10 %.4f", value)
                if value > best:
                    best = value
                    torch.save(model.state_dict(), args.out / "best.pt")
            if step == args.steps:
                break
    (args.out / "history.json").write_text(json.dumps(history))


if __name__ == "__main__":
    main()
