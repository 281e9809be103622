"""Send a log of questions through the search service and see how often the clicked article is found."""
import argparse
import json
import logging

import torch

from corpus import make_corpus
from models import PairJudge, TextEncoder, Tokenizer
from service import ArticleIndex, SearchService

log = logging.getLogger("search")


class Quality:
    def __init__(self):
        self.seen, self.found, self.reciprocal = 0, 0, 0.0
        self.score = 0.0

    def add(self, clicked, response):
        hits = json.loads(response)["hits"]
        numbers = [hit["article"] for hit in hits]
        self.seen += 1
        self.score += hits[0]["score"]
        if clicked in numbers:
            self.found += 1
            self.reciprocal += 1.0 / (numbers.index(clicked) + 1)

    def __str__(self):
        n = max(self.seen, 1)
        return (f"{self.seen} questions  found {self.found / n:.4f}  "
                f"reciprocal rank {self.reciprocal / n:.4f}  top score {self.score / n:.5f}")


def build(args):
    torch.manual_seed(args.seed)
    words, articles, queries = make_corpus(args.articles, args.batches * args.batch, args.seed)
    tokenizer = Tokenizer(words)
    encoder, judge = TextEncoder(len(tokenizer)).eval(), PairJudge(len(tokenizer)).eval()
    index = ArticleIndex(articles, tokenizer, encoder)
    log.info("%d articles, %d questions", len(articles), len(queries))
    return SearchService(index, tokenizer, encoder, judge), queries


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=32_000)
    parser.add_argument("--batches", type=int, default=480)
    parser.add_argument("--batch", type=int, default=6)
    parser.add_argument("--log-every", type=int, default=50)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")

    service, queries = build(args)
    quality = Quality()
    for number in range(args.batches):
        part = queries[number * args.batch:(number + 1) * args.batch]
        requests = [
            json.dumps({"id": number * args.batch + i, "text": q.text, "product": q.product})
            for i, q in enumerate(part)
        ]
        for query, response in zip(part, service.answer(requests)):
            quality.add(query.clicked, response)
        if (number + 1) % args.log_every == 0:
            log.info("batch %4d  %s", number + 1, quality)


if __name__ == "__main__":
    main()
