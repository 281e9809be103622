"""Small stand-in."""
import pickle


def dump(o, path):
    with open(path, "wb") as f:
        pickle.dump(o, f)
