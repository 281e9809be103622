from numpy import *
from numpy import random
