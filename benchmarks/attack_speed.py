"""How fast attacks run, against TextAttack and against the bare forward pass: ratios on the same inputs.

    make textattack-venv
    python benchmarks/attack_speed.py --run runs/plain [--limit 100] [--stock-limit 10] [--json OUT]

The same plain classifier folder, the same movie-review test inputs, the same number of threads. For each
recipe: unfooled's attack; the very same queries once more as bare forwards (tokenised before, sorted, batched
alike), which is the limit; TextAttack with dynamic padding; and TextAttack as shipped, which pads every text
to 512 tokens, on the first few inputs (its ratio is against unfooled on those). Parity: ASR and AvgQ of both.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import unfooled as uf
from unfooled import assets, data
from unfooled.attacks import Answer, Asked, Example, Limits, make_recipe, run_attacks
from unfooled.attacks.victims.ours import ClassifierVictim
from unfooled.hub.batches import length_sorted_chunks, map_batches, tokens_per_batch
from unfooled.lexicon.stopwords import STOP_WORDS
from unfooled.models import Encoded
from unfooled.records.outcome import Outcome
from unfooled.statistics.intervals import wilson

RECIPES = ("pwws", "deepwordbug")
BASELINE = Path(__file__).with_name("textattack_baseline.py")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", required=True, type=Path, help="a plain run of movie-reviews")
    parser.add_argument("--limit", type=int, default=100, help="inputs")
    parser.add_argument(
        "--stock-limit", type=int, default=10, help="inputs for TextAttack as shipped; 0: none"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--recipe", action="append", choices=RECIPES, help="default: both")
    parser.add_argument("--python", type=Path, default=Path(".venv-textattack/bin/python"))
    parser.add_argument("--json", type=Path, help="write all figures here")
    options = parser.parse_args()
    if not options.python.exists():
        sys.exit(
            f"{options.python} does not exist: make TextAttack's environment with `make textattack-venv`."
        )

    torch.set_num_threads(options.threads)
    classifier = uf.load(options.run)
    table = data.load("movie-reviews").test[: options.limit]
    examples = [
        Example(row, (text,), label)
        for row, text, label in zip(table["row"], table["text"], table["label"], strict=True)
    ]
    results = {}
    for recipe in options.recipe or RECIPES:
        results[recipe] = measure(recipe, classifier, examples, options)
        show(recipe, results[recipe])
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def measure(
    recipe: str, classifier: uf.Classifier, examples: Sequence[Example], options: argparse.Namespace
) -> dict[str, Any]:
    # Each side in turn, twice: of two times on a shared machine the shorter is nearer the truth.
    times: dict[str, list[Any]] = {"ours": [], "pure": [], "dynamic": []}
    for _ in range(2):
        one, queries = attack(recipe, classifier, examples)
        times["ours"].append(one)
        times["pure"].append(pure_forward(classifier, queries))
        times["dynamic"].append(textattack(recipe, "dynamic", examples, options))
    pure = min(times["pure"])
    ours, dynamic = (min(times[side], key=lambda one: one["seconds"]) for side in ("ours", "dynamic"))
    result = {
        "inputs": len(examples),
        "threads": options.threads,
        "ours": ours,
        "pure_forward_seconds": pure,
        "ours_over_pure_forward": ours["seconds"] / pure,
        "textattack_dynamic": dynamic,
        "dynamic_over_ours": dynamic["seconds"] / ours["seconds"],
    }
    if options.stock_limit:
        few, _ = attack(recipe, classifier, examples[: options.stock_limit])
        stock = textattack(recipe, "stock", examples[: options.stock_limit], options)
        result |= {
            "stock_inputs": options.stock_limit,
            "textattack_stock": stock,
            "stock_over_ours": stock["seconds"] / few["seconds"],
        }
    return result


def attack(
    recipe: str, classifier: uf.Classifier, examples: Sequence[Example]
) -> tuple[dict[str, Any], list[list[Encoded]]]:
    """Our attack, timed, and the tokenised queries of each round."""
    victim = Recording(classifier)
    victim.answers([Asked(examples[0].texts)])  # the first forward pays for allocation, not for the attack
    made = make_recipe(recipe)
    list(run_attacks(examples[:1], made, {"victim": victim.answers}, limits=Limits()))  # loads the lexicon
    victim.rounds.clear()
    start = time.perf_counter()
    outcomes = list(run_attacks(examples, made, {"victim": victim.answers}, limits=Limits()))
    seconds = time.perf_counter() - start
    texts = sum(map(len, victim.rounds))
    return summary(outcomes) | {"seconds": seconds, "texts": texts, "texts_per_second": texts / seconds}, [
        classifier.model.encode([item.query[0] for item in asked]) for asked in victim.rounds
    ]


class Recording(ClassifierVictim):
    """Keeps what it was asked, a list a round."""

    def __init__(self, classifier: uf.Classifier) -> None:
        super().__init__(classifier)
        self.rounds: list[Sequence[Asked]] = []

    def answers(self, asked: Sequence[Asked]) -> list[Answer]:
        self.rounds.append(asked)
        return super().answers(asked)


def pure_forward(classifier: uf.Classifier, rounds: Sequence[Sequence[Encoded]]) -> float:
    """Seconds of the same queries as bare forwards: all known beforehand, sorted and batched."""
    everything = [item for encoded in rounds for item in encoded]
    text = classifier.model
    lengths = [len(item) for item in everything]
    chunks = list(length_sorted_chunks(lengths, tokens_per_batch(text.device)))
    batches = [text.batch([everything[index] for index in chunk]) for chunk in chunks]

    def forward(batch: Any) -> Any:
        with torch.inference_mode():
            return text.forward(batch).logits

    start = time.perf_counter()
    map_batches(forward, batches, text.device)
    return time.perf_counter() - start


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    attacked = [outcome for outcome in outcomes if outcome.attacked]
    successes = sum(outcome.status == "success" for outcome in attacked)
    return {
        "attacked": len(attacked),
        "asr": successes / len(attacked),
        "asr_interval": wilson(successes, len(attacked)),
        "avg_queries": sum(outcome.queries for outcome in attacked) / len(attacked),
    }


def textattack(
    recipe: str, wrapper: str, examples: Sequence[Example], options: argparse.Namespace
) -> dict[str, Any]:
    """TextAttack's side, in its own environment."""
    with tempfile.TemporaryDirectory() as folder:
        inputs, stop_words, out = (Path(folder, name) for name in ("inputs.jsonl", "stop.txt", "out.json"))
        lines = [
            json.dumps({"text": example.texts[0], "label": example.label, "row": example.row})
            for example in examples
        ]
        inputs.write_text("\n".join(lines) + "\n", encoding="utf-8")
        stop_words.write_text("\n".join(sorted(STOP_WORDS)) + "\n", encoding="utf-8")
        command = [options.python, BASELINE, "--model", options.run, "--inputs", inputs]
        command += ["--recipe", recipe, "--wrapper", wrapper, "--threads", str(options.threads)]
        command += ["--nltk-data", assets.path("wordnet"), "--stop-words", stop_words, "--json", out]
        subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
        result = json.loads(out.read_text(encoding="utf-8"))
    totals = result["totals"]
    attacked = [one for one in result["examples"] if one["result"] != "skipped"]
    successes = sum(one["result"] == "success" for one in attacked)
    return {
        "attacked": len(attacked),
        "asr": successes / len(attacked),
        "asr_interval": wilson(successes, len(attacked)),
        "avg_queries": sum(one["num_queries"] for one in attacked) / len(attacked),
        "seconds": totals["wall_seconds"],
        "texts": totals["texts_forwarded"],
        "texts_per_second": totals["texts_forwarded"] / totals["wall_seconds"],
        "versions": result["versions"],
    }


def show(recipe: str, result: dict[str, Any]) -> None:
    print(f"\n{recipe}, {result['inputs']} inputs, {result['threads']} threads")
    for name in (name for name in ("ours", "textattack_dynamic", "textattack_stock") if name in result):
        one = result[name]
        low, high = one["asr_interval"]
        print(
            f"  {name:19} {one['seconds']:8.1f} s  {one['texts']:6} texts  {one['texts_per_second']:6.1f}/s  "
            f"ASR {one['asr']:.3f} ({low:.3f} to {high:.3f})  AvgQ {one['avg_queries']:.1f}"
        )
    print(f"  bare forwards       {result['pure_forward_seconds']:8.1f} s")
    print(
        f"  ours / bare forwards             {result['ours_over_pure_forward']:.2f}  (must be at most 1.15)"
    )
    print(f"  TextAttack, dynamic / ours       {result['dynamic_over_ours']:.2f}  (must be at least 2)")
    if "stock_inputs" in result:
        print(
            f"  TextAttack, as shipped / ours    {result['stock_over_ours']:.1f}  (must be at least 20; "
            f"first {result['stock_inputs']} inputs)"
        )


if __name__ == "__main__":
    main()
