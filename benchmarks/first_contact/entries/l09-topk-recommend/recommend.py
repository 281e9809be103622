"""Nightly batch job: twenty recommendations for every user from a two-tower model.

Writes out/items.i32 (rows of item numbers) and out/scores.f32 (rows of scores), users in order;
the twenty of a row come in no particular order.
"""
import argparse
import os
import time

import torch

from towers import ItemTower, UserTower

HERE = os.path.dirname(os.path.abspath(__file__))


def make_catalogue(items, categories, seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(0, categories, (items,), generator=g)


def make_histories(users, length, items, seed):
    """Popular items come first in the catalogue and are seen more often."""
    g = torch.Generator().manual_seed(seed)
    return (torch.rand(users, length, generator=g) ** 3 * items).long()


def batches(histories, size):
    yield from histories.split(size)


def score_users(user_tower, item_vectors, item_columns, history, top):
    seen = item_vectors[history]
    scores = (user_tower(seen) @ item_columns).float()
    scores.scatter_(1, history, float("-inf"))
    return scores.topk(top, dim=1, sorted=False)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--users", type=int, default=640_000)
    ap.add_argument("--items", type=int, default=5000)
    ap.add_argument("--categories", type=int, default=60)
    ap.add_argument("--history", type=int, default=40)
    ap.add_argument("--dim", type=int, default=64)
    ap.add_argument("--hidden", type=int, default=128)
    ap.add_argument("--batch-size", type=int, default=128)
    ap.add_argument("--top", type=int, default=20)
    ap.add_argument("--checkpoint", default="")
    ap.add_argument("--log-every", type=int, default=500)
    args = ap.parse_args()

    torch.manual_seed(0)
    item_tower = ItemTower(args.items, args.categories, args.dim).eval()
    user_tower = UserTower(args.dim, args.hidden).eval()
    if args.checkpoint:
        state = torch.load(args.checkpoint, weights_only=True)
        item_tower.load_state_dict(state["item"])
        user_tower.load_state_dict(state["user"])
    category = make_catalogue(args.items, args.categories, seed=1)
    histories = make_histories(args.users, args.history, args.items, seed=2)

    out = os.path.join(HERE, "out")
    os.makedirs(out, exist_ok=True)
    started, done = time.time(), 0
    with torch.inference_mode(), \
            open(os.path.join(out, "items.i32"), "wb") as items_file, \
            open(os.path.join(out, "scores.f32"), "wb") as scores_file:
        item_vectors = item_tower(torch.arange(args.items), category)
        user_tower, item_vectors = user_tower.bfloat16(), item_vectors.bfloat16()
        item_columns = item_vectors.t().contiguous()
        for number, history in enumerate(batches(histories, args.batch_size), 1):
            scores, items = score_users(user_tower, item_vectors, item_columns, history, args.top)
            items_file.write(items.to(torch.int32).numpy().tobytes())
            scores_file.write(scores.numpy().tobytes())
            done += len(history)
            if number % args.log_every == 0:
                print(f"{done} users, {done / (time.time() - started):.0f} users/s", flush=True)
    print(f"{done} users in {time.time() - started:.1f} s")


if __name__ == "__main__":
    main()
