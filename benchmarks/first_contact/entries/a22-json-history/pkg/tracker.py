import json
import os
import time


class RunTracker:
    """Keeps the run's metrics in one JSON file which the dashboard reads."""

    def __init__(self, folder, config):
        os.makedirs(folder, exist_ok=True)
        self.path = os.path.join(folder, "run.json")
        self.state = {"config": config, "started": time.time(), "steps": [], "epochs": []}

    def log_step(self, **values):
        self.state["steps"].append({"time": time.time(), **values})
        self.flush()

    def log_epoch(self, **values):
        self.state["epochs"].append(values)
        self.flush()

    def flush(self):
        tmp = self.path + ".tmp"
        with open(tmp, "w") as fh:
            json.dump(self.state, fh, indent=1)
        os.replace(tmp, self.path)
