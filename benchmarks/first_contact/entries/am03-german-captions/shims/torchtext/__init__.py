from . import data
from . import datasets
from . import utils
from . import vocab

__version__ = "0.6.0"
