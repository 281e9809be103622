from .data import HaulBatches, HaulSeason
from .density import MixtureHead, mixture_nll
from .encoder import HaulEncoder

__all__ = ["HaulBatches", "HaulSeason", "HaulEncoder", "MixtureHead", "mixture_nll"]
