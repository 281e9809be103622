"""The user's own start-up file."""

import os

os.environ["OWN_SITECUSTOMIZE"] = "ran"
