"""What random deletion costs: its draws against those of random masking, and seconds per certified text.

    python benchmarks/deletion_speed.py --run RUN --data TEST.jsonl [--texts 24] [--draws 64] [--json OUT]

``RUN`` is a run of random-delete with one rate p. Draws per second of three samplers on the same texts and
the same weights, each with a share p of the words hidden: deleted; masked with mask tokens; masked with
``hidden=dropped``. The sides take turns three times; the shortest time of each counts. Then the time of
certificates with ``--adaptive`` for «are r edits covered?», r = 1 and 3, in seconds and draws per text.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import torch

import unfooled as uf
from unfooled.certificates.certifier import Certifier
from unfooled.certificates.sampling import Sampling
from unfooled.predictors import RandomWordMask
from unfooled.predictors.smoothing import ESTIMATE, SELECT, RandomWordDelete, SmoothedVote

ROUNDS = 3
LEAST = 4.0
"""Draws of deletion over draws with mask tokens that are asked for at p = 0.9."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", type=Path, required=True, help="a run of random-delete with one rate")
    parser.add_argument("--data", required=True, help="file with the texts")
    parser.add_argument("--texts", type=int, default=24, help="texts that are drawn from")
    parser.add_argument("--draws", type=int, default=64, help="draws per text")
    parser.add_argument("--certified", type=int, default=24, help="texts that are certified")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write all figures here")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    classifier = uf.load(options.run, precision="float32")
    predictor = classifier.predictor
    if not isinstance(predictor, RandomWordDelete) or len(predictor.rates) != 1:
        parser.error(f"{options.run} is no run of random-delete with one rate.")
    (rate,) = predictor.rates
    texts = read_texts(options.data, max(options.texts, options.certified))
    result: dict[str, Any] = {"rate": rate, "threads": options.threads, "texts": options.texts}
    result["draws"] = draws = sampler_speed(classifier, texts[: options.texts], rate, options.draws)
    for name, one in draws.items():
        print(
            f"{name:12} {one['per_second']:.0f} draws per second, {one['over_mask_token']:.2f} × mask-token"
        )
    print(f"deletion must reach {LEAST} × mask-token at a rate of 0.9; this is {rate}")
    result["certified"] = [
        certified_speed(classifier, texts[: options.certified], radius) for radius in (1, 3)
    ]
    for one in result["certified"]:
        print(
            f"{one['radius']} edits: {one['seconds_per_text']:.2f} s and {one['draws_per_text']:.0f} draws "
            f"per text, {one['yes']} of {one['texts']} covered"
        )
    if options.json:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def read_texts(path: str, limit: int) -> list[str]:
    """The first texts of a file."""
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()[:limit]]
    return [row["text"] for row in rows]


def sampler_speed(
    classifier: uf.Classifier, texts: list[str], rate: float, draws: int
) -> dict[str, dict[str, float]]:
    """Draws per second of each sampler, and over those with mask tokens."""
    model = classifier.model
    model.evaluating()
    encoded = model.encode(texts)
    sides: dict[str, SmoothedVote] = {
        "mask-token": RandomWordMask(kept=1 - rate),
        "dropped": RandomWordMask(kept=1 - rate, hidden="dropped"),
        "deleted": RandomWordDelete(rates=(rate,)),
    }
    requests = [(owner, 0, draws) for owner in range(len(texts))]
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(ROUNDS):
        for name, side in sides.items():
            sampler = side.sampler(model, encoded, seed=turn, purpose=ESTIMATE)
            if not turn:
                side.sampler(model, encoded, seed=0, purpose=SELECT).counts([(0, 0, 16)])  # allocation
            start = time.perf_counter()
            sampler.counts(requests)
            seconds[name].append(time.perf_counter() - start)
    slowest = min(seconds["mask-token"])
    return {
        name: {
            "per_second": len(texts) * draws / min(own),
            "over_mask_token": slowest / min(own),
        }
        for name, own in seconds.items()
    }


def certified_speed(classifier: uf.Classifier, texts: list[str], radius: int) -> dict[str, Any]:
    """Seconds and draws per text of «are so many edits covered?»."""
    certifier = Certifier(classifier, "edits", sampling=Sampling(adaptive=True, radius=radius))
    start = time.perf_counter()
    found = [certificate for _, certificate in certifier.certify(texts)]
    seconds = time.perf_counter() - start
    return {
        "radius": radius,
        "texts": len(found),
        "seconds_per_text": seconds / len(found),
        "draws_per_text": sum(one.samples for one in found) / len(found),
        "yes": sum(one.answer == "yes" for one in found),
    }


if __name__ == "__main__":
    main()
