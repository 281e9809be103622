import os

import pandas as pd


class OpenMLDataset:
    def __init__(self, dataset_id):
        self.path = os.path.join("openml_cache", str(dataset_id), "dataset.arff")
        self.default_target_attribute = "class"

    def get_data(self, dataset_format="dataframe", target=None):
        names, categories, skip = [], {}, 0
        with open(self.path) as file:
            for line in file:
                skip += 1
                if line.lower().startswith("@data"):
                    break
                if line.lower().startswith("@attribute"):
                    _, name, kind = line.strip().split(None, 2)
                    names.append(name)
                    if kind.startswith("{"):
                        categories[name] = kind.strip("{}").split(",")
        frame = pd.read_csv(self.path, skiprows=skip, names=names, na_values="?", keep_default_na=False)
        for name in names:
            if name in categories:
                frame[name] = pd.Categorical(frame[name], categories=categories[name])
            else:
                frame[name] = frame[name].astype("float64")
        y = frame.pop(target)
        return frame, y, [name in categories for name in names if name != target], list(frame.columns)


def get_dataset(dataset_id):
    return OpenMLDataset(dataset_id)
