"""Rolling-origin backtest of the load forecaster: sMAPE and MAE per lead time."""
import argparse
import os
import time

import torch

from forecaster import HORIZON, WINDOW, LoadForecaster, meter_readings

CHECKPOINT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "forecaster.pt")


def forecast(readings, origin):
    model = LoadForecaster()
    model.load_state_dict(torch.load(CHECKPOINT, map_location="cpu"))
    model.eval()
    hours = torch.arange(origin - WINDOW, origin, dtype=torch.float32)
    with torch.inference_mode():
        return model(readings[:, origin - WINDOW:origin], hours)


class Scores:
    def __init__(self):
        self.smape = [0.0] * HORIZON
        self.mae = [0.0] * HORIZON
        self.count = 0

    def update(self, predicted, actual):
        for m in range(predicted.size(0)):
            for h in range(HORIZON):
                p, a = predicted[m, h], actual[m, h]
                error = torch.abs(p - a)
                self.mae[h] += error.item()
                self.smape[h] += (2 * error / (torch.abs(p) + torch.abs(a))).item()
            self.count += 1

    def report(self):
        for h in (0, 5, 11, 23):
            print(f"lead {h + 1:2d} h   MAE {self.mae[h] / self.count:.4f}   sMAPE {100 * self.smape[h] / self.count:.2f} %")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--meters", type=int, default=16)
    p.add_argument("--origins", type=int, default=4000)
    p.add_argument("--stride", type=int, default=3)
    args = p.parse_args()

    readings = meter_readings(args.meters, WINDOW + args.origins * args.stride + HORIZON, seed=42)
    scores = Scores()
    began = time.time()
    for k in range(args.origins):
        origin = WINDOW + k * args.stride
        predicted = forecast(readings, origin)
        scores.update(predicted, readings[:, origin:origin + HORIZON])
        if (k + 1) % 400 == 0:
            print(f"{k + 1} origins, {(time.time() - began) / (k + 1) * 1000:.1f} ms each")
    scores.report()


if __name__ == "__main__":
    main()
