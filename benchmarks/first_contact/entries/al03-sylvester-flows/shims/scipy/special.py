import numpy as np


def logsumexp(a):
    m = np.max(a)
    return m + np.log(np.sum(np.exp(a - m)))
