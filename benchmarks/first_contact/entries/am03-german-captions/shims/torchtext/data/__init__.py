from .batch import Batch
from .dataset import Dataset, TabularDataset
from .example import Example
from .field import RawField, Field, ReversibleField, SubwordField, NestedField, LabelField
from .iterator import (batch, BucketIterator, Iterator, BPTTIterator,
                       pool)
from .metrics import bleu_score
from .pipeline import Pipeline
from .utils import get_tokenizer, interleave_keys

__all__ = ["Batch",
           "Dataset", "TabularDataset",
           "Example",
           "RawField", "Field", "ReversibleField", "SubwordField", "NestedField",
           "LabelField",
           "batch", "BucketIterator", "Iterator", "BPTTIterator",
           "pool",
           "bleu_score",
           "Pipeline",
           "get_tokenizer", "interleave_keys"]
