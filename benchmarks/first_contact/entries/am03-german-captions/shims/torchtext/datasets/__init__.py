from .translation import TranslationDataset, Multi30k, IWSLT, WMT14
