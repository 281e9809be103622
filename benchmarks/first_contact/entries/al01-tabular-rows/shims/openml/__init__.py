"""Stand-in for openml: reads an ARFF file that prepare.py wrote to openml_cache/<id>/dataset.arff."""
from . import datasets
