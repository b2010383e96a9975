"""What RSMI costs against plain fine-tuning and plain prediction: ratios of processor time, in one process.

    python benchmarks/rsmi_cost.py [--run runs/rsmi] [--json] [--texts 400] [--steps 40] [--precision float32]

Training: seconds a step, RSMI over plain, on the same batches, alternating so that a noisy machine
disturbs both alike. Prediction: seconds for the same texts, RSMI (both output modes, and the sequential
second stage) over one plain forward each; on how many of ``--agreement`` texts the sequential second stage
gives the label of all k1 votes; and a literal transcription of Algorithm 1 (full backward pass, one forward
after another, padded to 256) over ours. With ``--run`` a trained RSMI run is measured (how many texts need
the second stage depends on the model); without it one is trained on a part of movie-reviews first.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

import unfooled as uf
from unfooled import data
from unfooled.defences import Rsmi, Session, Standard, Step, Training, TrainingData
from unfooled.models import Encoded, FreshNoise, Noise, TextModel, collate
from unfooled.predictors import Plain, TwoStep
from unfooled.predictors.two_step import votes_to_pass

MODES: dict[str, dict[str, Any]] = {
    "vote": {"output": "vote", "second_stage": "fixed"},
    "mean-logit": {"output": "mean-logit", "second_stage": "fixed"},
    "sequential": {"output": "vote", "second_stage": "sequential"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--run", help="a trained RSMI run folder")
    parser.add_argument("--task", default="movie-reviews")
    parser.add_argument("--texts", type=int, default=400, help="texts to predict")
    parser.add_argument(
        "--literal-texts", type=int, default=12, help="texts for the literal transcription; 0 for none"
    )
    parser.add_argument("--agreement", type=int, default=1000, help="texts to compare the second stages on")
    parser.add_argument("--precision", default="auto", help="float32, bf16, or auto")
    parser.add_argument("--masking", help="gradient, random or none (default: as the run answers)")
    parser.add_argument("--steps", type=int, default=30, help="training steps of each kind; 0 for none")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    run = options.run or _trained(options.task)
    classifier = uf.load(run, precision=options.precision)
    if not isinstance(classifier.predictor, TwoStep):
        sys.exit(f"{options.run} is not an RSMI run.")
    if options.masking:
        classifier.predictor = dataclasses.replace(classifier.predictor, masking=options.masking)
    splits = data.load(options.task)
    text = classifier.model
    every = text.encode(list(splits.test["text"]))
    random.Random(0).shuffle(every)
    encoded = every[: options.texts]
    result: dict[str, object] = {
        "texts": len(encoded),
        "precision": text.precision,
        "predictor": classifier.predictor.describe(),
        "training": training_cost(classifier, splits, options.steps) if options.steps else {},
        "prediction": prediction_cost(text, classifier.predictor, encoded, options.literal_texts),
        "agreement": agreement(text, classifier.predictor, every[: options.agreement]),
    }
    if options.json:
        print(json.dumps(result, indent=2))
        return
    train, predict, same = result["training"], result["prediction"], result["agreement"]
    assert isinstance(train, dict) and isinstance(predict, dict) and isinstance(same, dict)
    if train:
        print(f"training step   RSMI / plain           {train['ratio']:.2f}")
    for mode in MODES:
        row = predict[mode]
        print(
            f"prediction      RSMI {mode:10} / plain {row['ratio']:.2f}   "
            f"({row['forwards']:.1f} forwards per text, {row['second_stage']:.0%} in the second stage)"
        )
    print(
        f"sequential second stage: the label of all votes on {same['same']} of {same['texts']} texts, "
        f"{same['second_stage']} of them in the second stage, {same['votes']:.1f} votes there"
    )
    if "literal_over_ours" in predict:
        print(f"Algorithm 1 transcribed / ours         {predict['literal_over_ours']:.1f}")


def training_cost(classifier: uf.Classifier, splits: data.TaskData, steps: int) -> dict[str, float]:
    text = classifier.model
    settings = {f.name for f in dataclasses.fields(Rsmi)}
    rsmi = Rsmi(**{k: v for k, v in classifier.predictor.describe().items() if k in settings})
    rsmi = dataclasses.replace(rsmi, noise_layers=tuple(rsmi.noise_layers)).resolved(text)  # type: ignore[arg-type]
    encoded = text.encode(list(splits.train["text"]))
    labels = list(splits.train["label"])
    chooser = random.Random(0)
    # Batches of similar length, as in training.
    order = sorted(range(len(encoded)), key=lambda index: len(encoded[index]))
    starts = [chooser.randrange(0, len(order) - 32) for _ in range(steps)]
    batches = [order[start : start + 32] for start in starts]
    optimiser = torch.optim.AdamW(text.module.parameters(), lr=0.0, fused=True)
    times: dict[str, list[float]] = {"plain": [], "rsmi": []}

    def step(session: Session[Any], indices: list[int]) -> None:
        batch = text.batch([encoded[i] for i in indices], [labels[i] for i in indices])
        session.backward(batch, Step(done=1.0))
        torch.nn.utils.clip_grad_norm_(text.module.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    text.module.train()
    training = Training(text, TrainingData(encoded, labels), splits.task, seed=0, steps=steps)
    sessions = {"plain": Standard().begin(training), "rsmi": rsmi.begin(training)}
    for session in sessions.values():
        step(session, batches[0])
    for indices in batches:
        for name, session in sessions.items():
            times[name].append(seconds(lambda s=session, i=indices: step(s, i)))  # type: ignore[misc]
    text.module.eval()
    each = [rsmi_time / plain for plain, rsmi_time in zip(times["plain"], times["rsmi"], strict=True)]
    return {
        "ratio": sum(times["rsmi"]) / sum(times["plain"]),
        "median_ratio": statistics.median(each),
        "plain_seconds_a_step": sum(times["plain"]) / steps,
    }


def prediction_cost(
    text: TextModel, predictor: TwoStep, encoded: list[Encoded], literal_texts: int
) -> dict[str, object]:
    text.module.eval()
    Plain().decide(text, encoded[:16])
    result: dict[str, object] = {}
    for mode in MODES:
        ours = dataclasses.replace(predictor, **MODES[mode])
        ours.decide(text, encoded[:16])
        plain_times, our_times = [], []
        for seed in range(3):
            plain_times.append(seconds(lambda: Plain().decide(text, encoded)))
            our_times.append(seconds(lambda o=ours, s=seed: o.decide(text, encoded, seed=s)))  # type: ignore[misc]
        decisions = ours.decide(text, encoded)
        result[mode] = {
            "ratio": sum(our_times) / sum(plain_times),
            "plain_texts_per_second": 3 * len(encoded) / sum(plain_times),
            "forwards": sum(d.forwards for d in decisions) / len(decisions),
            "second_stage": sum(d.stage == 2 for d in decisions) / len(decisions),
        }
    if not literal_texts:
        return result
    few = encoded[:literal_texts]
    ours = dataclasses.replace(predictor, **MODES["mean-logit"])
    our_seconds = seconds(lambda: ours.decide(text, few))
    result["literal_over_ours"] = (
        seconds(lambda: [literal_algorithm_1(text, ours, e) for e in few]) / our_seconds
    )
    return result


def agreement(text: TextModel, predictor: TwoStep, encoded: list[Encoded]) -> dict[str, float]:
    """How often the sequential second stage gives the label of the fixed one, with how many votes."""
    fixed, sequential = (
        dataclasses.replace(predictor, **MODES[mode]).decide(text, encoded) for mode in ("vote", "sequential")
    )
    second = [decision for decision in sequential if decision.stage == 2]
    return {
        "texts": len(encoded),
        "same": sum(a.label == b.label for a, b in zip(fixed, sequential, strict=True)),
        "second_stage": len(second),
        "votes": sum(sum(decision.votes[1]) for decision in second) / max(1, len(second)),
    }


def literal_algorithm_1(text: TextModel, settings: TwoStep, item: Encoded) -> int:
    """Algorithm 1 as one would first write it: every gradient, one padded forward after another."""
    noise = Noise(settings.sigma, settings.noise_layers)
    sampler = FreshNoise(noise)

    def padded(one: Encoded) -> object:
        return collate([one], pad_id=text.tokenizer.pad_token_id, multiple_of=256).to(text.device)

    batch = padded(item)
    embeddings = text.start(batch).detach().requires_grad_(True)  # type: ignore[attr-defined]
    logits = text.forward(batch, start=embeddings, sampler=sampler, sites=noise.sites).logits  # type: ignore[arg-type]
    F.cross_entropy(logits, logits.argmax(-1)).backward()
    text.module.zero_grad()
    scores = embeddings.grad.norm(dim=-1)[0].masked_fill(~batch.maskable[0], -1)  # type: ignore[union-attr,attr-defined]
    real = sum(item.maskable)
    ranked = scores.topk(min(settings.candidates, real)).indices.tolist()
    mask_id = text.mask_token_id
    assert mask_id is not None

    def vote(positions: list[int]) -> torch.Tensor:
        masked = padded(item.with_masked(positions, mask_id))
        with torch.no_grad():
            return text.forward(masked, sampler=sampler, sites=noise.sites).logits[0]  # type: ignore[arg-type]

    top = ranked[: settings.masked_tokens]
    first = [vote(top) for _ in range(settings.first_votes)]
    counts = torch.bincount(torch.stack(first).argmax(-1), minlength=text.num_labels)
    if int(counts.max()) >= votes_to_pass(settings.first_votes, settings.alpha):
        return int(counts.argmax())
    chooser = random.Random(0)
    size = min(settings.masked_tokens, len(ranked))
    second = [vote(chooser.sample(ranked, size)) for _ in range(settings.second_votes)]
    return int(torch.stack(second).mean(0).argmax())


def seconds(work: Callable[[], object]) -> float:
    """Processor seconds, which other work on the machine hardly changes; with a GPU, seconds by the clock."""
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    started = clock()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock() - started


def _trained(task: str) -> Path:
    folder = Path("runs") / f"benchmark-{task}-rsmi"
    if not (folder / "unfooled.json").exists():
        uf.train(folder, task=task, defence="rsmi")
    return folder


if __name__ == "__main__":
    main()
