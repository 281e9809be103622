class MinMaxScaler:
    def __init__(self, feature_range=(0, 1)):
        self.lo, self.hi = feature_range

    def fit_transform(self, x):
        a, b = x.min(0), x.max(0)
        return (x - a) / (b - a) * (self.hi - self.lo) + self.lo
