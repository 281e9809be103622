import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

from graph import citation_graph
from layers import Net
from monitor import ActivationMonitor


@torch.inference_mode()
def evaluate(model, graph):
    model.eval()
    right = model(graph).argmax(1) == graph.y
    model.train()
    return right[graph.train].float().mean().item(), right[graph.val].float().mean().item()


def train(args):
    torch.manual_seed(args.seed)
    graph = citation_graph(seed=args.seed)
    model = Net(graph.x.shape[1], args.hidden, int(graph.y.max()) + 1)
    monitor = ActivationMonitor(model, nn.LayerNorm)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-4, fused=True)
    started = time.time()
    for epoch in range(1, args.epochs + 1):
        logits = model(graph)
        loss = F.cross_entropy(logits[graph.train], graph.y[graph.train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % args.report_every == 0:
            a, b = evaluate(model, graph)
            print(f"epoch {epoch:4d}  loss {loss.item():.3f}  train {a:.3f}  val {b:.3f}  "
                  f"{(time.time() - started) / epoch * 1e3:.1f} ms")
            monitor.report()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=250)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--report-every", type=int, default=25)
    p.add_argument("--seed", type=int, default=0)
    train(p.parse_args())
