"""The names that are imported; only Lambda is called in this script."""


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, x):
        for t in self.transforms:
            x = t(x)
        return x


class Lambda:
    def __init__(self, lambd):
        self.lambd = lambd

    def __call__(self, x):
        return self.lambd(x)


class ToPILImage:
    pass


class ToTensor:
    pass


class Resize:
    def __init__(self, size):
        self.size = size
