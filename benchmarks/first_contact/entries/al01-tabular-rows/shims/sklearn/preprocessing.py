import numpy as np


class LabelEncoder:
    def fit_transform(self, values):
        self.classes_, codes = np.unique(np.asarray(values), return_inverse=True)
        return codes
