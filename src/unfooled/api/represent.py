"""What attacks do to a run's hidden states (Moon et al. 2023, Fig. 2; Chen et al. 2022, Fig. 5).

Every success of an attack is a pair: the text and what the attack made of it. Both go through the encoder
without noise or masks, and the state of the first token, which the classification head reads, is compared
after every block. The first paper does not say which state it compares; it has noise on. The first token is
there whatever the lengths of the two texts; where an encoder has none (T5), it is the mean of its tokens.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unfooled import __version__
from unfooled.api.arguments import checks_arguments
from unfooled.api.jobs.attack_job import REPORT as ATTACK
from unfooled.api.jobs.attack_job import read_attack
from unfooled.api.target import folder_of
from unfooled.errors import UsageError, UserError
from unfooled.files import JsonObject
from unfooled.records.results.documents import RepresentReport
from unfooled.settings import check_whole
from unfooled.statistics.drift import Array, drift, fit_plane
from unfooled.storage.provenance import command, versions
from unfooled.storage.questions import Question, digests
from unfooled.storage.result_sets import SetName, choose_set

if TYPE_CHECKING:
    from unfooled.models import Encoded, Model
    from unfooled.predictors import Classifier
    from unfooled.records.outcome import Outcome

FORMAT = 1
REPORT = "representations.json"

TextOrPair = tuple[str, ...]
States = Mapping[TextOrPair, list[Array]]
"""By text (or both texts of a pair): one vector a layer."""


@dataclass(frozen=True)
class Attacked:
    """One attack and the successes that are looked at."""

    name: str
    folder: Path
    obstinate: bool
    labels: tuple[str, ...]
    transfer: bool
    """The texts were made for other weights."""
    successes: tuple[Outcome, ...]


@checks_arguments
def represent(
    run: str | Path | Classifier,
    *,
    attacks: Sequence[str | Path] | None = None,
    limit: int | None = 100,
    device: str = "auto",
    out: str | Path | SetName | None = None,
) -> RepresentReport:
    """Compare the hidden states of attacked inputs with the clean ones; also in ``representations.json``.

    ``attacks`` are attack folders (default: all of RUN/attacks), of each the first ``limit`` successes. The
    report is kept in a result set, RUN/representations/all (or the names of the attacks), with
    ``out=SetName("mine")`` in RUN/representations/mine, or in the folder ``out``.

    >>> represent("runs/plain")["drift"][0]["l2"]     # one number per layer
    """
    from unfooled.api.load import load
    from unfooled.models import as_text

    check_whole("--limit", limit)
    run = folder_of(run)
    started = time.perf_counter()
    folders = [Path(one) for one in attacks] if attacks is not None else _own_attacks(run)
    for folder in folders:
        if not (folder / ATTACK).is_file():
            raise UsageError(
                f"{folder} is not an attack folder (no {ATTACK}). Make one with `unfooled attack {run}`, or "
                "name another with --attack."
            )
    # Distances are small numbers: no bfloat16.
    classifier = load(run, device=device, precision="float32")
    found = _read(run, classifier, folders, limit=limit, named=attacks is not None)
    question = Question(
        "represent",
        {"unfooled": __version__, "weights": classifier.identity()["weights"]},
        {one.name: digests(_told(success) for success in one.successes) for one in found},
        "other successes",
    )
    default = "all" if attacks is None else "+".join(folder.name for folder in folders)
    kept = choose_set(question, run / "representations", default, out)
    states, kind = _states_of(classifier, [text for one in found for text in _texts(one)])
    report = {
        "format": FORMAT,
        "run": str(run),
        "model": classifier.identity(),
        "result_set": kept.told(),
        "state": kind,
        "layers": [
            "embeddings",
            *(f"block {number}" for number in range(1, as_text(classifier.model).depth + 1)),
        ],
        "limit": limit,
        "drift": [_drift(one, states) for one in found if one.successes],
        "without_successes": [one.name for one in found if not one.successes],
        "map": _map(found, states, kind),
        "seconds": time.perf_counter() - started,
        "command": command(),
        "versions": versions(),
    }
    kept.begin(question)
    kept.write(REPORT, report)
    return RepresentReport(report)


def _own_attacks(run: Path) -> list[Path]:
    folders = sorted(path.parent for path in (run / "attacks").glob(f"*/{ATTACK}"))
    if not folders:
        raise UsageError(
            f"{run} has no attacks to compare with (nothing in {run / 'attacks'}). Attack it first: "
            f"unfooled attack {run} --recipe textfooler; or name an attack folder with --attack."
        )
    return folders


def _read(
    run: Path, classifier: Classifier, folders: Sequence[Path], *, limit: int | None, named: bool
) -> list[Attacked]:
    weights = classifier.identity()["weights"]
    reports = [read_attack(folder) for folder in folders]
    recipes = [report.about["recipe"]["name"] for report in reports]
    found = []
    for folder, report, recipe in zip(folders, reports, recipes, strict=True):
        transfer = report.about["victim"].get("weights") != weights
        if transfer and not named:
            raise UserError(
                f"{folder} is an attack on other weights than {run} has now. Run the attack again, or name "
                "the folder with --attack to compare all the same."
            )
        successes = [one for one in report.outcomes if one.status == "success" and one.perturbed]
        found.append(
            Attacked(
                name=recipe if recipes.count(recipe) == 1 else f"{recipe} ({folder})",
                folder=folder,
                obstinate=report.about["recipe"]["goal"] == "obstinate",
                labels=report.labels,
                transfer=transfer,
                successes=tuple(successes[:limit]),
            )
        )
    return found


def _told(success: Outcome) -> JsonObject:
    return {"row": success.row, "original": success.original, "perturbed": success.perturbed}


def _texts(attack: Attacked) -> list[TextOrPair]:
    return [text for one in attack.successes for text in (one.original, one.perturbed or ())]


def _states_of(classifier: Classifier, texts: Sequence[TextOrPair]) -> tuple[States, str]:
    """The state of every text after every layer, and which state it is; equal texts are computed once."""
    from unfooled.models import as_text

    distinct = list(dict.fromkeys(texts))
    if len({len(text) for text in distinct}) > 1:
        raise UsageError(
            "The attacks differ in kind: some changed single texts, others pairs. Name one kind."
        )
    text = as_text(classifier.model)
    encoded: list[Encoded] = []
    if distinct:
        first, *second = (list(column) for column in zip(*distinct, strict=True))
        # A run for pairs refuses attacks on single texts, and the other way round.
        checked = classifier.checked(first, second[0] if second else None)
        encoded = text.encode(*(list(column) for column in zip(*checked, strict=True)))
    mean = any(item.maskable[0] for item in encoded)
    found = _forward(text, encoded, mean=mean)
    return dict(zip(distinct, found, strict=True)), "mean of tokens" if mean else "first token"


def _forward(text: Model, encoded: Sequence[Encoded], *, mean: bool) -> list[list[Array]]:
    import torch

    from unfooled.hub.batches import balanced, map_by_length

    def states_of(chunk: list[int]) -> list[list[Array]]:
        with torch.inference_mode():
            batch = text.batch([encoded[index] for index in chunk])
            hidden = text.forward(batch, hidden_states=True).hidden
            if mean:
                weight = batch.mask.float() / batch.mask.sum(dim=1, keepdim=True)
                chosen = [(layer * weight[:, :, None]).sum(dim=1) for layer in hidden]
            else:
                chosen = [layer[:, 0] for layer in hidden]
            layers = [layer.cpu().double().numpy() for layer in chosen]
            return [[layer[place] for layer in layers] for place in range(len(chunk))]

    lengths = [len(item) for item in encoded]
    return map_by_length(
        states_of, lengths, balanced(sum(lengths), text.batch_size, text.device), text.device
    )


def _drift(attack: Attacked, states: States) -> dict[str, object]:
    clean = [states[one.original] for one in attack.successes]
    attacked = [states[one.perturbed or ()] for one in attack.successes]
    return {
        "attack": attack.name,
        "goal": "obstinate" if attack.obstinate else "fickle",
        "folder": str(attack.folder),
        "transfer": attack.transfer,
        **drift(_by_layer(clean), _by_layer(attacked)),
    }


def _by_layer(inputs: Sequence[Sequence[Array]]) -> list[Array]:
    return [np.stack(layer) for layer in zip(*inputs, strict=True)]


def _map(found: Sequence[Attacked], states: States, kind: str) -> dict[str, object]:
    """The last states in the plane where the clean ones vary most."""
    points: list[dict[str, object]] = []
    texts: list[TextOrPair] = []
    seen: set[TextOrPair] = set()
    for attack in found:
        for one in attack.successes:
            about = {"row": one.row, "label": _label(one, attack.labels)}
            if one.original not in seen:
                seen.add(one.original)
                points.append({**about, "kind": "clean", "attack": None})
                texts.append(one.original)
            kept = "obstinate" if attack.obstinate else "fickle"
            points.append({**about, "kind": kept, "attack": attack.name})
            texts.append(one.perturbed or ())
    state = "[CLS]" if kind == "first token" else "mean"
    result: dict[str, object] = {
        "method": f"PCA of the final {state} state, fitted on clean",
        "explained": [0.0, 0.0],
        "points": points,
    }
    if points:
        last = np.stack([states[text][-1] for text in texts])
        plane = fit_plane(last[[point["kind"] == "clean" for point in points]])
        result["explained"] = list(plane.explained)
        for point, (x, y) in zip(points, plane.project(last).tolist(), strict=True):
            point.update(x=x, y=y)
    return result


def _label(outcome: Outcome, labels: Sequence[str]) -> str:
    """The original's true label: an obstinate text no longer means it."""
    if outcome.truth is None or outcome.truth >= len(labels):
        return str(outcome.truth)
    return labels[outcome.truth]
