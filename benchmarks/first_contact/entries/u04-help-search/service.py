"""Search over help articles: candidates by vector, then a second look at the best of them."""
import json

import torch
import torch.nn.functional as F


class ArticleIndex:
    def __init__(self, articles, tokenizer, encoder, length=14):
        self.articles = articles
        self.tokens = torch.tensor([tokenizer.encode(a.words, length) for a in articles])
        with torch.inference_mode():
            self.vectors = torch.cat([encoder(part) for part in self.tokens.split(1024)])
        self.by_product = {}
        for article in articles:
            self.by_product.setdefault(article.product, []).append(article.number)
        self.by_product = {p: torch.tensor(numbers) for p, numbers in self.by_product.items()}

    def similarity(self, queries):
        """Cosine of every query with every article."""
        return F.normalize(queries, dim=-1) @ F.normalize(self.vectors, dim=-1).t()


class SearchService:
    def __init__(self, index, tokenizer, encoder, judge, candidates=32, shown=5):
        self.index, self.tokenizer = index, tokenizer
        self.encoder, self.judge = encoder.eval(), judge.eval()
        self.candidates, self.shown = candidates, shown

    def shortlist(self, similarity, product):
        """The best articles on one product, best first."""
        numbers = self.index.by_product[product]
        scores = similarity[numbers].tolist()
        ranked = sorted(zip(scores, numbers.tolist()), reverse=True)
        return ranked[:self.candidates]

    @torch.inference_mode()
    def answer(self, requests):
        """One batch of requests, each a JSON string; a JSON string for each."""
        parsed = [json.loads(request) for request in requests]
        rows = [self.tokenizer.encode(r["text"].lower().split(), 8) for r in parsed]
        questions = torch.tensor(rows)
        similarity = self.index.similarity(self.encoder(questions))
        shortlists = [self.shortlist(similarity[i], r["product"]) for i, r in enumerate(parsed)]

        numbers = torch.tensor([[number for _, number in found] for found in shortlists])
        near = torch.tensor([[score for score, _ in found] for found in shortlists])
        pairs = torch.cat([
            questions[:, None].expand(-1, self.candidates, -1),
            self.index.tokens[numbers],
        ], dim=-1)
        judged = self.judge(pairs.flatten(0, 1)).view_as(near)
        final, order = (near + 0.1 * judged).topk(self.shown, dim=1)
        chosen = numbers.gather(1, order)
        return [self.reply(*row) for row in zip(parsed, chosen.tolist(), final.tolist())]

    def reply(self, request, numbers, scores):
        hits = [
            {"article": n, "title": self.index.articles[n].title, "score": round(s, 5)}
            for n, s in zip(numbers, scores)
        ]
        return json.dumps({"id": request["id"], "hits": hits})
