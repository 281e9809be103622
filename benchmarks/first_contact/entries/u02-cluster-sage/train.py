"""Topics of papers by GraphSAGE on clusters of a citation graph."""
import argparse
import logging
from pathlib import Path

import torch
import torch.nn.functional as F

from graph import PaperGraph
from loader import ClusterLoader
from sage import SAGE

log = logging.getLogger("papers")


@torch.no_grad()
def accuracy(model, graph):
    model.eval()
    predicted = model(graph.x, graph.edge_index).argmax(1)
    model.train()
    correct = predicted == graph.y
    return correct[graph.val_mask].float().mean().item()


def train_epoch(model, loader, optimizer, limit):
    total, seen, steps = 0.0, 0, 0
    for batch in loader:
        logits = model(batch.x, batch.edge_index)
        loss = F.cross_entropy(logits[batch.train_mask], batch.y[batch.train_mask])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch.y)
        seen += len(batch.y)
        steps += 1
        if steps == limit:
            break
    return total / seen, steps


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--nodes", type=int, default=60_000)
    parser.add_argument("--parts", type=int, default=80)
    parser.add_argument("--per-batch", type=int, default=2)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--eval-every", type=int, default=10, help="epochs")
    parser.add_argument("--out", type=Path, default=Path("runs"))
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(0)

    graph = PaperGraph(args.nodes)
    log.info("%d papers, %d links", graph.num_nodes, graph.edge_index.size(1))
    loader = ClusterLoader(graph, args.parts, args.per_batch)
    model = SAGE(graph.counts.size(1), args.hidden, int(graph.y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    args.out.mkdir(exist_ok=True)

    done, epoch, best = 0, 0, 0.0
    while done < args.steps:
        loss, steps = train_epoch(model, loader, optimizer, args.steps - done)
        done += steps
        epoch += 1
        log.info("epoch %3d  step %4d  loss %.5f", epoch, done, loss)
        if epoch % args.eval_every == 0:
            score = accuracy(model, graph)
            log.info("epoch %3d  validation accuracy %.4f", epoch, score)
            if score > best:
                best = score
                torch.save(model.state_dict(), args.out / "sage.pt")


if __name__ == "__main__":
    main()
