"""TextAttack's own PWWS and DeepWordBug on a classifier folder: the other side of attack_speed.py.

    .venv-textattack/bin/python benchmarks/textattack_baseline.py --model FOLDER --inputs FILE.jsonl \\
        --recipe pwws --wrapper dynamic --nltk-data FOLDER --stop-words FILE --json OUT

Runs in the environment of `make textattack-venv`, apart from unfooled's. `--wrapper stock` is TextAttack's
HuggingFaceModelWrapper as shipped (every text padded to the tokenizer's longest, 512 for BERT); `dynamic`
is the same wrapper padding to the longest text of the batch and cutting at the model's own length. The
recipes, the search and the caches are TextAttack's, untouched. Nothing is fetched: see `offline`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECIPES = {"pwws": "PWWSRen2019", "deepwordbug": "DeepWordBugGao2018"}
VERSIONS = ("textattack", "torch", "transformers", "tokenizers", "nltk", "numpy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", required=True, type=Path, help="a Hugging Face classifier folder")
    parser.add_argument("--inputs", required=True, type=Path, help="lines of {text, label, row}")
    parser.add_argument("--recipe", required=True, choices=RECIPES)
    parser.add_argument("--wrapper", required=True, choices=("stock", "dynamic"))
    parser.add_argument("--nltk-data", type=Path, help="NLTK data with WordNet (else NLTK_DATA)")
    parser.add_argument("--stop-words", type=Path, help="one word a line (else those of the NLTK data)")
    parser.add_argument("--max-length", type=int, help="tokens kept by dynamic (else the model's own)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit", type=int, help="attack only the first inputs")
    parser.add_argument("--seed", type=int, default=0, help="DeepWordBug draws letters and places")
    parser.add_argument("--json", required=True, type=Path, help="where the result is written")
    options = parser.parse_args()

    inputs = [json.loads(line) for line in options.inputs.read_text(encoding="utf-8").splitlines() if line]
    inputs = inputs[: options.limit]
    if not inputs:
        sys.exit(f"No inputs to attack: {options.inputs} with --limit {options.limit}.")
    with offline(options.nltk_data, options.stop_words):
        result = run(options, inputs)
    options.json.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    totals = result["totals"]
    print(
        f"{options.recipe} {options.wrapper}: {totals['examples']} texts in {totals['wall_seconds']:.1f} s, "
        f"{totals['texts_forwarded']} forwarded ({totals['texts_per_second']:.1f}/s), "
        f"SAcc {totals['sacc']:.1%}, ASR {totals['asr']:.1%}, AvgQ {totals['avg_queries']:.1f}"
    )


@contextlib.contextmanager
def offline(nltk_data: Path | None, stop_words: Path | None) -> Iterator[None]:
    """Import and build TextAttack without a network.

    Its import downloads six NLTK packages unless its cache holds a marker, and WordSwapWordNet downloads one
    more when built. Of those the two recipes need WordNet and the stop words only. Here the cache is a
    passing folder with the marker in it, and ``nltk.download`` does nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        import nltk
        import transformers  # noqa: F401  (warns when imported after TextAttack has moved its cache)

        os.environ.update(TA_CACHE_DIR=folder, HF_HUB_OFFLINE="1")
        Path(folder, "post_install_check_3").touch()
        nltk.download = lambda *args, **kwargs: True
        if nltk_data is not None:
            nltk.data.path.insert(0, str(nltk_data.resolve()))
        if stop_words is not None:
            english = Path(folder, "nltk_data", "corpora", "stopwords", "english")
            english.parent.mkdir(parents=True)
            english.write_text(stop_words.read_text(encoding="utf-8"), encoding="utf-8")
            nltk.data.path.insert(0, str(english.parents[2]))
        for name in ("wordnet", "stopwords"):
            try:
                nltk.data.find(f"corpora/{name}")
            except LookupError:
                sys.exit(f"NLTK's {name} is not in {nltk.data.path}: name it (--nltk-data, --stop-words).")
        yield


@dataclass
class Meter:
    """What the attack asked of the model: wrapper calls, texts in them, token positions, seconds inside."""

    calls: int = 0
    texts: int = 0
    positions: int = 0
    seconds: float = 0.0


def run(options: argparse.Namespace, inputs: list[dict[str, Any]]) -> dict[str, Any]:
    import numpy as np
    import torch
    from textattack import attack_recipes
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.set_num_threads(options.threads)
    model = AutoModelForSequenceClassification.from_pretrained(options.model).eval()
    tokenizer = AutoTokenizer.from_pretrained(options.model)
    max_length = options.max_length or own_length(options.model) or tokenizer.model_max_length
    meter = Meter()
    wrapper = metered(model, tokenizer, meter, max_length if options.wrapper == "dynamic" else None)
    attack = getattr(attack_recipes, RECIPES[options.recipe]).build(wrapper)
    wrapper([inputs[0]["text"]])  # the first forward pays for allocation, not for the attack
    vars(meter).update(vars(Meter()))
    random.seed(options.seed)
    np.random.seed(options.seed)

    results = []
    start = time.perf_counter()
    for row in inputs:
        results.append(attack.attack(row["text"], row["label"]))
    wall = time.perf_counter() - start

    lengths = [len(ids) for ids in tokenizer([row["text"] for row in inputs])["input_ids"]]
    return {
        "recipe": options.recipe,
        "wrapper": options.wrapper,
        "threads": options.threads,
        "seed": options.seed,
        "max_length": max_length if options.wrapper == "dynamic" else tokenizer.model_max_length,
        "inputs_cut": sum(length > max_length for length in lengths) if options.wrapper == "dynamic" else 0,
        "versions": {"python": platform.python_version()}
        | {n: importlib.metadata.version(n) for n in VERSIONS},
        "totals": totals(results, meter, wall),
        "examples": [example(row, result) for row, result in zip(inputs, results, strict=True)],
    }


def own_length(folder: Path) -> int | None:
    """The length the classifier was trained with, which unfooled notes beside the weights."""
    notes = folder / "unfooled.json"
    return json.loads(notes.read_text(encoding="utf-8"))["max_length"] if notes.is_file() else None


def metered(model: Any, tokenizer: Any, meter: Meter, dynamic_length: int | None) -> Any:
    """TextAttack's wrapper with a meter; ``dynamic_length`` changes padding and cutting, nothing else."""
    import torch
    from textattack.models.wrappers import HuggingFaceModelWrapper

    class Dynamic(HuggingFaceModelWrapper):
        def __call__(self, texts: list[str]) -> Any:
            encoded = self.tokenizer(
                texts,
                add_special_tokens=True,
                padding=True,
                max_length=dynamic_length,
                truncation=True,
                return_tensors="pt",
            )
            with torch.no_grad():
                return self.model(**encoded).logits

    class Metered(HuggingFaceModelWrapper if dynamic_length is None else Dynamic):  # type: ignore[misc]
        def __call__(self, texts: list[str]) -> Any:
            start = time.perf_counter()
            logits = super().__call__(texts)
            meter.seconds += time.perf_counter() - start
            meter.calls += 1
            meter.texts += len(texts)
            return logits

    def count_positions(_: Any, args: Any, kwargs: dict[str, Any]) -> None:
        meter.positions += kwargs["input_ids"].numel()

    model.register_forward_pre_hook(count_positions, with_kwargs=True)
    return Metered(model, tokenizer)


def kind(result: Any) -> str:
    return {"Successful": "success", "Failed": "failed", "Skipped": "skipped"}[
        type(result).__name__.removesuffix("AttackResult")
    ]


def example(row: dict[str, Any], result: Any) -> dict[str, Any]:
    return {
        "row": row.get("row"),
        "label": row["label"],
        "result": kind(result),
        "num_queries": result.num_queries,
        "original_text": result.original_text(),
        "perturbed_text": result.perturbed_text(),
        "original_label": result.original_result.output,
        "perturbed_label": result.perturbed_result.output,
    }


def totals(results: list[Any], meter: Meter, wall: float) -> dict[str, Any]:
    """Skipped inputs (wrong before the attack) count in SAcc and RAcc, not in ASR and AvgQ."""
    kinds = [kind(result) for result in results]
    attacked = [result for result, k in zip(results, kinds, strict=True) if k != "skipped"]
    successes = kinds.count("success")
    return {
        "examples": len(results),
        "skipped": kinds.count("skipped"),
        "successes": successes,
        "failures": kinds.count("failed"),
        "sacc": len(attacked) / len(results),
        "racc": kinds.count("failed") / len(results),
        "asr": successes / max(len(attacked), 1),
        "avg_queries": sum(result.num_queries for result in attacked) / max(len(attacked), 1),
        "queries": sum(result.num_queries for result in results),
        "wall_seconds": wall,
        "forward_seconds": meter.seconds,
        "model_calls": meter.calls,
        "texts_forwarded": meter.texts,
        "positions_forwarded": meter.positions,
        "texts_per_second": meter.texts / wall,
    }


if __name__ == "__main__":
    main()
