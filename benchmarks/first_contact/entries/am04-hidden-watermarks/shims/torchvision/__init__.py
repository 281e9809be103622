from . import datasets, transforms, utils
