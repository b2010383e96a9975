"""A saved classifier: an ordinary Hugging Face folder plus ``unfooled.json``.

Any Hugging Face tool opens the folder; ``unfooled.json`` adds the defence, its settings, the predictor
and the task, so that :func:`load` gives back the classifier that was trained. A classifier of images has its
weights beside it, and its architecture in ``unfooled.json``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from torch import nn

from unfooled import __version__
from unfooled.api.arguments import checks_arguments
from unfooled.api.same_model import weight_files
from unfooled.api.self_checks import CHECKS, recorded_checks
from unfooled.defences import make_defence, settings_of
from unfooled.errors import UsageError, UserError
from unfooled.files import TRAIN_AGAIN, cannot_write, in_shape, read_json, write_json
from unfooled.hub.devices import device_and_bf16
from unfooled.hub.pretrained import quiet
from unfooled.hub.safetensors_files import COPY_AGAIN
from unfooled.models import (
    ImageModel,
    Model,
    QaModel,
    TextModel,
    as_text,
    described_questions,
    open_image_model,
    open_questions,
    open_text,
    save_image_model,
)
from unfooled.predictors import Classifier, make_predictor
from unfooled.records.shapes.run_shapes import MarkerFormat, MarkerShape
from unfooled.settings import check_whole
from unfooled.storage.replacement import previous

FORMAT = 1
MARKER = "unfooled.json"
METRICS = "metrics.json"
ALWAYS = ("config.json", "tokenizer.json", "tokenizer_config.json")
"""Files of every run, beside the weights."""


@checks_arguments
def load(
    path: str | Path, *, model: nn.Module | None = None, device: str = "auto", precision: str = "auto"
) -> Classifier:
    """The classifier saved in a run folder.

    ``model`` is a network with the layers of the one that ``unfooled.train(model=…)`` was given: its weights
    become those of the run.
    """
    folder = Path(path)
    marker = folder / MARKER
    if not marker.is_file():
        if (folder / "config.yaml").is_file():
            raise UserError(
                f"The run in {folder} is not finished. Run the same training command again: it goes on "
                "from the last checkpoint."
            )
        if not folder.exists() and (kept := previous(folder)).is_dir():
            raise UserError(
                f"{folder} was being replaced when training was stopped: the run that was there is {kept}. "
                "Run the same training command again: it moves the new run in."
            )
        raise UserError(
            f"{folder} is not a folder saved by unfooled (no {MARKER}). Train one with `unfooled train`, "
            "or use unfooled.wrap(model, tokenizer) for a model of your own."
        )
    saved = read_json(marker, MarkerFormat, remedy=TRAIN_AGAIN)
    if saved["format"] != FORMAT:
        raise UserError(
            f"{marker} has format {saved['format']!r}; this version of unfooled reads format {FORMAT}. "
            f"It was written by unfooled {saved.get('unfooled')}."
        )
    saved = in_shape(saved, MarkerShape, str(marker), remedy=TRAIN_AGAIN)
    device_and_bf16(device, precision)  # what the caller got wrong is not the file's fault
    predictor = dict(saved["predictor"])
    try:
        chosen = make_predictor(predictor.pop("name"), predictor)
        opens = next((own for name, own in _OPENERS.items() if name in saved), _open_texts)
        opened = opens(saved, folder, device, precision, model)
    except UsageError as error:
        if model is not None:
            raise  # it is the network that does not fit, not the file
        raise UserError(f"{marker}: {error} {TRAIN_AGAIN}") from error
    classifier = Classifier(
        opened,
        chosen,
        labels=saved["labels"],
        defence=saved["defence"]["name"],
        settings=saved["defence"]["settings"],
        task=saved["task"],
        folder=folder.absolute(),
    )
    if (folder / METRICS).is_file():
        classifier.metrics = read_json(folder / METRICS, dict[str, Any], remedy=TRAIN_AGAIN)
    return classifier


def _open_texts(
    saved: MarkerShape, folder: Path, device: str, precision: str, network: nn.Module | None
) -> Model:
    _no_network(network)
    where, bf16 = device_and_bf16(device, precision)
    if "max_length" not in saved:
        raise UsageError("max_length is missing.")
    check_whole("max_length", saved["max_length"], at_least=4)
    _check_files(folder)
    model = open_text(folder, max_length=saved["max_length"], device=where, bf16=bf16)
    _check_labels(saved["labels"], model.module.config, folder)
    return model


def _open_images(
    saved: MarkerShape, folder: Path, device: str, precision: str, network: nn.Module | None
) -> Model:
    from unfooled.data.images.image_files import read_image

    where, _ = device_and_bf16(device, precision)
    return open_image_model(
        folder,
        saved["images"],
        len(saved["labels"]),
        network=network,
        device=where,
        bf16=precision == "bf16",
        open_file=read_image,
    )


def _open_questions(
    saved: MarkerShape, folder: Path, device: str, precision: str, network: nn.Module | None
) -> Model:
    _no_network(network)
    where, bf16 = device_and_bf16(device, precision)
    own = saved["questions"]
    for name, least in (("max_length", 4), ("stride", 0), ("longest_answer", 1)):
        check_whole(name, own[name], at_least=least)  # type: ignore[literal-required]
    _check_files(folder)
    return open_questions(folder, **own, device=where, bf16=bf16)


def _no_network(network: nn.Module | None) -> None:
    if network is not None:
        raise UsageError("model is for runs of images, and this one reads texts.")


_OPENERS: Mapping[str, Callable[[MarkerShape, Path, str, str, nn.Module | None], Model]] = {
    "images": _open_images,
    "questions": _open_questions,
}
"""How a model is opened, by what ``unfooled.json`` says of it; texts have no entry of their own."""


def _check_files(folder: Path) -> None:
    for name in ALWAYS:
        if not (folder / name).is_file():
            raise UserError(f"{folder / name} is missing. {COPY_AGAIN}")


def _check_labels(labels: list[str], config: Any, folder: Path) -> None:
    """Refuse label names that are not the model's; names that Hugging Face made up do not count."""
    named = [str(config.id2label.get(number, "")) for number in range(config.num_labels)]
    made_up = [f"LABEL_{number}" for number in range(len(named))]
    if len(labels) != len(named) or (named != made_up and list(labels) != named):
        raise UserError(
            f"{folder / MARKER} names the labels {', '.join(map(str, labels))}, and "
            f"{folder / 'config.json'} names {', '.join(named)}. {COPY_AGAIN}"
        )


@checks_arguments
def save(classifier: Classifier, folder: Path) -> None:
    """Write the model's files and, last, ``unfooled.json``: without it the run is not finished."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        about = _written(classifier.model, folder)
    except (OSError, SafetensorError) as error:
        raise cannot_write(folder, error) from error
    marker = {
        "format": FORMAT,
        "unfooled": __version__,
        "defence": {"name": classifier.defence, "settings": classifier.settings},
        "predictor": classifier.predictor.describe(),
        "task": classifier.task,
        "labels": list(classifier.labels),
        **about,
        "weights": classifier.model.identity()["weights"],
        "files": weight_files(folder),
    }
    write_json(folder / CHECKS, recorded_checks(classifier, folder, marker))
    write_json(folder / MARKER, marker)


def _written(model: Model, folder: Path) -> Mapping[str, object]:
    """Write the model's files; gives what ``unfooled.json`` must say of it."""
    if isinstance(model, ImageModel):
        return {"images": save_image_model(model, folder)}
    with quiet():
        model.module.save_pretrained(folder, safe_serialization=True)
        as_text(model).tokenizer.save_pretrained(folder)
    # Weights are written through a private temporary file; who may read the rest may read them.
    for weights in folder.glob("*.safetensors"):
        weights.chmod((folder / "config.json").stat().st_mode)
    if isinstance(model, QaModel):
        return {"questions": described_questions(model)}
    return {"max_length": as_text(model).max_length}


def wrap(
    model: Any,
    tokenizer: Any,
    *,
    defence: str = "standard",
    settings: Mapping[str, object] | None = None,
    max_length: int = 128,
) -> Classifier:
    """A classifier from a Hugging Face model you already have, under a defence's predictor.

    A model that answers questions (``…ForQuestionAnswering``) gives spans of their contexts.
    """
    asks = type(model).__name__.endswith("ForQuestionAnswering")
    text = (QaModel if asks else TextModel)(model, tokenizer, max_length=max_length)
    chosen = make_defence(defence, settings).resolved(text)
    labels = [str(model.config.id2label[index]) for index in range(text.num_labels)]
    return Classifier(
        text,
        chosen.predictor(text),
        labels=labels,
        defence=defence,
        settings=settings_of(chosen),
        task={"name": "own", "kind": "qa", "metric": "f1"} if asks else None,
    )
