"""Training in a thread; the main thread would wait for ever for a result that never comes."""

import queue
import sys
import threading

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

results = queue.Queue()


def train(steps):
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(16, 8)).square().mean()
        loss.backward()
        optimizer.step()
    results.put(loss.item())


thread = threading.Thread(target=train, args=(int(sys.argv[1]),))
thread.start()
if "wait" in sys.argv:
    print(results.get())
thread.join()
print("main thread ends")
