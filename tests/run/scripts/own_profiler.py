"""The script's own profiler: always on, or on a schedule."""

import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

from torch.profiler import ProfilerActivity, profile, schedule  # noqa: E402

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train(steps, after_step):
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(16, 8)).square().mean()
        loss.backward()
        optimizer.step()
        after_step()


def ready(profiler):
    profiler.key_averages().table(sort_by="cpu_time_total")
    profiler.export_chrome_trace(sys.argv[2])


if sys.argv[1] == "always":
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        train(150, lambda: None)
    print(len(profiler.key_averages()) > 0)
else:
    plan = schedule(wait=2, warmup=1, active=2)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=ready, with_stack=True) as profiler:
        train(150, profiler.step)
print("done")
