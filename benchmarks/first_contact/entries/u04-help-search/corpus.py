"""Help articles and a log of what people asked for."""
import random
from dataclasses import dataclass


@dataclass
class Article:
    number: int
    product: str
    title: str
    words: list


@dataclass
class Query:
    text: str
    product: str
    clicked: int


PRODUCTS = ["router", "thermostat", "camera", "doorbell", "speaker", "hub", "lock", "sensor"]


def vocabulary(size, rng):
    starts = "b br c cl d dr f fl g h k l m n p pr r s st t tr v w".split()
    middles = "a e i o u ai ea ou".split()
    ends = "ck d ft l m n nt p r rd s st t x".split()
    words = set()
    while len(words) < size:
        syllables = rng.choice([1, 2, 2])
        words.add("".join(rng.choice(starts) + rng.choice(middles) for _ in range(syllables)) + rng.choice(ends))
    return sorted(words)


def write_articles(count, words, rng, length=14):
    weights = [1.0 / (rank + 20) for rank in range(len(words))]
    rng.shuffle(words)
    text = rng.choices(words, weights, k=count * length)
    articles = []
    for number in range(count):
        body = text[number * length:(number + 1) * length]
        articles.append(Article(number, rng.choice(PRODUCTS), " ".join(body[:4]), body))
    return articles


def write_queries(count, articles, words, rng):
    queries = []
    for _ in range(count):
        article = rng.choice(articles)
        asked = rng.sample(article.words, 6) + rng.choices(words, k=2)
        rng.shuffle(asked)
        queries.append(Query(" ".join(asked), article.product, article.number))
    return queries


def make_corpus(articles, queries, seed=0):
    rng = random.Random(seed)
    words = vocabulary(6000, rng)
    written = write_articles(articles, words, rng)
    return words, written, write_queries(queries, written, words, rng)
