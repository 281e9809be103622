"""Fits the forecaster and writes forecaster.pt (run once)."""
import torch

from forecaster import HORIZON, WINDOW, LoadForecaster, meter_readings

torch.manual_seed(0)
series = meter_readings(64, 3000, seed=1)
model = LoadForecaster()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(250):
    start = int(torch.randint(0, 3000 - WINDOW - HORIZON, ()))
    window = series[:, start:start + WINDOW]
    target = series[:, start + WINDOW:start + WINDOW + HORIZON]
    hour = torch.arange(start, start + WINDOW, dtype=torch.float32)
    loss = (model(window, hour) - target).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 49:
        print(step + 1, round(loss.item(), 4))
torch.save(model.state_dict(), "forecaster.pt")
