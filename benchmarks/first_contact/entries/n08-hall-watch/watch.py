"""Watches a hall of machines tick by tick and writes an alarm line for every machine that stands out."""
import argparse
import collections
import json
import os
import tempfile

import torch

from detector import Alarm, Forecaster, surprise
from features import RollingFeatures
from plant import Plant


class Watcher:
    def __init__(self, args):
        self.plant = Plant(args.machines, args.channels, args.seed)
        self.features = RollingFeatures(args.machines, args.channels)
        self.model = Forecaster(self.features.width * args.channels, args.channels)
        if args.weights:
            self.model.load_state_dict(torch.load(args.weights, map_location="cpu"))
        self.model.eval()
        self.states = self.model.begin(args.machines)
        self.alarm = Alarm(args.machines)
        self.forecast = None
        self.rung = collections.Counter()

    def tick(self):
        values = self.plant.read()
        lines, score = [], None
        if self.forecast is not None:
            score = surprise(*self.forecast, values)
            fresh, height = self.alarm.update(score)
            for machine in fresh:
                self.rung[machine] += 1
                lines.append({"tick": self.plant.tick, "machine": machine, "height": round(height[machine].item(), 3)})
        mean, logvar, self.states = self.model(self.features.push(values), self.states)
        self.forecast = (mean, logvar)
        return score, lines


@torch.inference_mode()
def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--machines", type=int, default=384)
    p.add_argument("--channels", type=int, default=8)
    p.add_argument("--ticks", type=int, default=4000)
    p.add_argument("--report-every", type=int, default=250)
    p.add_argument("--weights", default="")
    p.add_argument("--seed", type=int, default=13)
    p.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "alarms.jsonl"))
    args = p.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    watcher = Watcher(args)
    total, count = torch.zeros(()), 0
    with open(args.out, "w") as out:
        for number in range(1, args.ticks + 1):
            score, lines = watcher.tick()
            if score is not None:
                total += score.mean()
            for line in lines:
                out.write(json.dumps(line) + "\n")
            count += len(lines)
            if number % args.report_every == 0:
                print(f"tick {number:5d}  mean loss {total.item() / args.report_every:.5f}  alarms so far {count}")
                total.zero_()
    busiest = ", ".join(f"{machine} ({times})" for machine, times in watcher.rung.most_common(5))
    print(f"{count} alarms from {len(watcher.rung)} machines; most often: {busiest}")


if __name__ == "__main__":
    main()
