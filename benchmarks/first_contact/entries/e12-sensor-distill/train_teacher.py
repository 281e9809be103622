"""Trains the teacher and writes teacher.pt (run once before distill.py)."""
import torch
import torch.nn.functional as F

from nets import sensor_windows, teacher_net

torch.manual_seed(0)
x, y = sensor_windows(4000, seed=1)
teacher = teacher_net()
opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
for epoch in range(4):
    for idx in torch.randperm(len(x)).split(64):
        loss = F.cross_entropy(teacher(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, loss.item())
torch.save(teacher.state_dict(), "teacher.pt")
