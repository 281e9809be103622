import argparse
import random
import time

import torch
import torch.nn.functional as F

from graph import NegativeSampler, make_graph, split_edges, to_undirected
from model import Encoder, LinkPredictor


def hits_at(positive, negative, k):
    threshold = negative.topk(k).values[-1]
    return (positive > threshold).float().mean().item()


@torch.no_grad()
def evaluate(encoder, predictor, x, edge_index, positive, negative, k):
    encoder.eval()
    predictor.eval()
    h = encoder(x, edge_index)
    hits = hits_at(predictor(h, positive), predictor(h, negative), k)
    encoder.train()
    predictor.train()
    return hits


def main():
    parser = argparse.ArgumentParser(description="link prediction on a co-purchase graph")
    parser.add_argument("--nodes", type=int, default=8000)
    parser.add_argument("--edges", type=int, default=60000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--batch-size", type=int, default=8192)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--eval-every", type=int, default=2)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    random.seed(args.seed)
    torch.manual_seed(args.seed)
    x, pairs = make_graph(args.nodes, args.edges, args.features, 160, args.seed)
    train, val, test = split_edges(pairs)
    edge_index = to_undirected(train)
    sampler = NegativeSampler(args.nodes, pairs)
    val_negative, test_negative = sampler.sample(20000), sampler.sample(20000)
    print(f"{args.nodes} nodes, {len(train)} training links, {len(val)} validation, {len(test)} test")

    encoder = Encoder(args.features, args.hidden, args.layers, args.dropout)
    predictor = LinkPredictor(args.hidden)
    parameters = list(encoder.parameters()) + list(predictor.parameters())
    optimizer = torch.optim.Adam(parameters, lr=args.lr)

    best_val, best_test = 0.0, 0.0
    for epoch in range(1, args.epochs + 1):
        start, total, count = time.time(), 0.0, 0
        for batch in torch.randperm(len(train)).split(args.batch_size):
            positive = train[batch]
            negative = sampler.sample(len(positive))
            h = encoder(x, edge_index)
            logits = predictor(h, torch.cat([positive, negative]))
            labels = torch.cat([torch.ones(len(positive)), torch.zeros(len(negative))])
            loss = F.binary_cross_entropy_with_logits(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimizer.step()
            total += loss.item() * len(positive)
            count += len(positive)
        line = f"epoch {epoch:02d} loss {total / count:.4f}"
        if epoch % args.eval_every == 0:
            hits = evaluate(encoder, predictor, x, edge_index, val, val_negative, args.k)
            if hits > best_val:
                best_val = hits
                best_test = evaluate(encoder, predictor, x, edge_index, test, test_negative, args.k)
            line += f" hits@{args.k} val {hits:.4f} (best {best_val:.4f}, test {best_test:.4f})"
        print(f"{line} {time.time() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
