"""The game makes its own data. This only writes the shorter setting that is run here: switch_3_dial.json with
16 games at a time in place of 32, and 200 episodes in place of 5001."""
import json
import os

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "config", "switch_3_dial.json")) as file:
    opt = json.load(file)
opt["bs"] = 16
opt["nepisodes"] = 200
with open(os.path.join(here, "config", "switch_3_dial_16.json"), "w") as file:
    json.dump(opt, file, indent=3)
