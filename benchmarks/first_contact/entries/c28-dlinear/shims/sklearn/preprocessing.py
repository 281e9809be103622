"""Small stand-in."""
import numpy as np


class StandardScaler:
    def fit(self, x):
        x = np.asarray(x, float)
        self.mean_, self.scale_ = x.mean(0), x.std(0)
        self.scale_[self.scale_ == 0] = 1
        return self

    def transform(self, x):
        return (np.asarray(x, float) - self.mean_) / self.scale_
