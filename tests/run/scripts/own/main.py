"""Prints what a script can see of Python's start-up."""

import json
import os
import sys

import diagnose
import trainer

seen = {
    "name": diagnose.NAME,
    "path": sys.path,
    "argv": sys.argv,
    "file": __file__,
    "main": __name__,
    "cwd": os.getcwd(),
    "sitecustomize": getattr(sys.modules.get("sitecustomize"), "__file__", None),
    "meta_path": [str(type(finder)) for finder in sys.meta_path],
    "loader": type(sys.modules["torch"].__loader__).__name__,
}
print(json.dumps(seen))
trainer.train(60)
