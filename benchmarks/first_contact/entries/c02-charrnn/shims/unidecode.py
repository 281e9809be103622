"""Small stand-in: accents off, everything else that isn't ASCII dropped (called once, at the start)."""
import unicodedata


def unidecode(s):
    return unicodedata.normalize("NFKD", s).encode("ascii", "ignore").decode()
