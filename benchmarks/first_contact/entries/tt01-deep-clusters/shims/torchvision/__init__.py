from . import datasets, transforms
