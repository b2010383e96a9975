"""What a report is about, read from folders: runs, benchmarks, attacks and certificates kept elsewhere.

An attack that names its victim's weights is given to the run with those weights; what belongs to no given
run is shown as a model of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unfooled.api.same_model import check_weights, of_another_model
from unfooled.errors import UsageError, UserError
from unfooled.files import MEASURE_AGAIN, JsonMapping, in_shape, read_json, read_yaml
from unfooled.hub.fingerprint import weights_of_folder
from unfooled.records.evidence import (
    Attack,
    Benchmark,
    Certified,
    Evidence,
    ModelEvidence,
    NamedResult,
    with_distinct_names,
)
from unfooled.records.input_kind import NOUN
from unfooled.records.picture import Picture
from unfooled.records.results.trained_run import Run
from unfooled.records.shapes.benchmark_shapes import BenchmarkShape, PlanShape
from unfooled.records.shapes.result_shapes import EvaluationShape, RepeatShape, StatesShape
from unfooled.storage.run_files import read_run
from unfooled.storage.textattack_csv import read_textattack_csv

ATTACK, CERTIFICATE = "attack.json", "certificate.json"
REPEATS, REPRESENTATIONS = "repeats/*/repeat.json", "representations/*/representations.json"
EVALUATIONS = "evaluations/*/evaluation.json"
RUN_AGAIN = "The file was changed or cut short: copy the folder again, or run the benchmark again."
BENCHMARK, PLAN = "benchmark.json", "plan.yaml"


def read_report_data(paths: Sequence[Path]) -> Evidence:
    """Everything in these run folders, benchmark folders, attack and certificate folders, TextAttack CSVs."""
    runs: dict[Path, Path] = {}
    loose: dict[Path, Path] = {}
    logged: dict[Path, Path] = {}
    benchmarks = []
    planned: dict[Path, JsonMapping] = {}
    for path in dict.fromkeys(map(Path, paths)):
        if (path / BENCHMARK).is_file():
            benchmarks.append(_benchmark(path))
            for marker in sorted(path.glob("runs/[!.]*/unfooled.json")):
                runs.setdefault(marker.parent.resolve(), marker.parent)
            planned |= {(path / str(cell.get("run"))).resolve(): cell for cell in benchmarks[-1].cells}
        elif path.suffix.lower() == ".csv" and not path.is_dir():
            logged.setdefault(path.resolve(), path)
        elif (path / ATTACK).is_file() or (path / CERTIFICATE).is_file():
            loose.setdefault(path.resolve(), path)
        elif (path / "journal.sqlite").is_file():
            raise UserError(
                f"{path} holds an attack or certification that is not finished (no {ATTACK} or "
                f"{CERTIFICATE}). Run the same command again: it goes on."
            )
        else:
            runs.setdefault(path.resolve(), path)
    models = [_as_planned(_model(folder), planned.get(place)) for place, folder in runs.items()]
    models = _with_loose(models, list(loose.values()))
    return Evidence(
        with_distinct_names(models),
        tuple(read_textattack_csv(path) for path in logged.values()),
        tuple(benchmarks),
        tuple(map(str, paths)),
    )


def _model(folder: Path) -> ModelEvidence:
    run = read_run(folder)
    check_weights(run)
    foreign: list[str] = []

    def own(path: Path, result: JsonMapping) -> bool:
        if why := of_another_model(run, path, result):
            foreign.append(f"{why}: not shown. Measure it again.")
        return not why

    attacks = [_attack(path.parent, run.predictor) for path in sorted(folder.glob(f"attacks/*/{ATTACK}"))]
    certified = [_certified(path.parent) for path in sorted(folder.glob(f"certificates/*/{CERTIFICATE}"))]

    def measured(files: str, read: Callable[[Path], Any]) -> tuple[NamedResult, ...]:
        """Every result set with such a file."""
        found = [(path.parent.name, read(path), path) for path in sorted(folder.glob(files))]
        found = [one for one in found if own(one[2], one[1])]
        return tuple(NamedResult(name, document, len(found) == 1) for name, document, _ in found)

    return ModelEvidence(
        run.name,
        run,
        _distinct([one for one in attacks if own(Path(one.folder), one.about)]),
        _distinct_certified([one for one in certified if own(Path(one.folder), one.about)]),
        measured(REPEATS, lambda path: read_json(path, RepeatShape)),
        measured(REPRESENTATIONS, _states),
        _pictures(folder, run),
        measured(EVALUATIONS, lambda path: read_json(path, EvaluationShape)),
        not_its_own=tuple(foreign),
    )


def _pictures(folder: Path, run: Run) -> tuple[Picture, ...]:
    """The masks of a run of images that has them."""
    if run.predictor.get("name") not in ("ars", "static-mask"):
        return ()
    from unfooled.api.pictures import read_pictures

    return read_pictures(folder)


def _as_planned(model: ModelEvidence, cell: JsonMapping | None) -> ModelEvidence:
    """The task and the defence by the names that the plan of its benchmark gives them."""
    if cell is None or model.run is None or not (cell.get("task") and cell.get("defence")):
        return model
    return replace(model, run=replace(model.run, task=str(cell["task"]), defence=str(cell["defence"])))


def _with_loose(models: Sequence[ModelEvidence], folders: Sequence[Path]) -> list[ModelEvidence]:
    """The models with the attacks and certificates that lie elsewhere and belong to one of them."""
    found = list(models)
    weights = {
        digest: number
        for number, model in enumerate(found)
        if folders
        and model.run
        and (digest := model.run.weights or weights_of_folder(Path(model.run.folder)))
    }
    own: dict[str, int] = {}
    for folder in folders:
        if (folder / ATTACK).is_file():
            attack = _attack(folder)
            victim = attack.about["victim"]
            named, identity = str(victim["name"]), json.dumps(victim, sort_keys=True)
            place = weights.get(str(victim.get("weights")))
        else:
            one = _certified(folder)
            named = identity = str(one.about["classifier"])
            measured = one.about.get("model")
            place = weights.get(str(measured.get("weights"))) if measured else _at_path(found, Path(named))
        if place is None:
            place = own.setdefault(identity, len(found))
            if place == len(found):
                found.append(ModelEvidence(Path(named).name or named, None))
        model = found[place]
        if (folder / ATTACK).is_file():
            if model.run:
                attack = replace(
                    attack, other_predictor=_difference(model.run.predictor, victim.get("predictor"))
                )
            found[place] = replace(model, attacks=_distinct([*model.attacks, attack]))
        else:
            found[place] = replace(model, certified=_distinct_certified([*model.certified, one]))
    return found


def _at_path(models: Sequence[ModelEvidence], folder: Path) -> int | None:
    """The model whose run this folder is."""
    for number, model in enumerate(models):
        if model.run and Path(model.run.folder).resolve() == folder.resolve():
            return number
    return None


def _attack(folder: Path, predictor: Any = None) -> Attack:
    from unfooled.api.jobs.attack_job import read_attack

    report = read_attack(folder)
    about = report.about
    return Attack(
        str(about["recipe"]["name"]),
        str(folder),
        report.summary,
        report.outcomes,
        report.labels,
        about,
        _difference(predictor, about["victim"].get("predictor")),
        _does(str(about["recipe"]["name"])),
    )


def _does(recipe: str) -> str:
    """What an attacker does, as the recipe says it; nothing of one that is not installed here."""
    from unfooled.attacks.registry import recipe_class

    try:
        return str(getattr(recipe_class(recipe), "does", ""))
    except UsageError:
        return ""


def _certified(folder: Path) -> Certified:
    from unfooled.api.jobs.certify_job import read_certificates
    from unfooled.certificates.threats import find_threat

    report = read_certificates(folder)
    kind = str(report.about.get("reads", "text"))
    try:
        threat = find_threat(str(report.about["threat"]), kind)
    except UsageError as error:
        raise UserError(f"{folder / CERTIFICATE}: threat: {error} {MEASURE_AGAIN}") from error
    meaning = threat.changes.format(r="R", thing=NOUN[kind], s="s")
    # Distances of tensors and of word embeddings are no numbers to stand in one table.
    name = threat.name if kind == "text" else f"{kind}-{threat.name}"
    return Certified(name, str(folder), report.summary, report.certificates, report.about, meaning)


def _difference(own: Any, attacked: Any) -> str:
    """The settings in which the attacked predictor differs from the run's own."""
    if not isinstance(own, Mapping) or not isinstance(attacked, Mapping):
        return ""
    return ", ".join(f"{key}={value}" for key, value in attacked.items() if own.get(key, value) != value)


def _distinct(attacks: Sequence[Attack]) -> tuple[Attack, ...]:
    """Attacks of the same recipe go by their folders too."""
    names = [str(one.about["recipe"]["name"]) for one in attacks]
    return tuple(
        replace(one, name=name if names.count(name) == 1 or folder == name else f"{name} ({folder})")
        for one, name, folder in zip(attacks, names, (Path(one.folder).name for one in attacks), strict=True)
    )


def _distinct_certified(certified: Sequence[Certified]) -> tuple[Certified, ...]:
    """Certificates against the same threat go by their folders too."""
    threats = [one.threat for one in certified]
    return tuple(
        replace(one, name="" if threats.count(one.threat) == 1 else Path(one.folder).name)
        for one in certified
    )


def _benchmark(folder: Path) -> Benchmark:
    file = folder / PLAN
    plan = in_shape(read_yaml(file) if file.is_file() else {}, PlanShape, str(file), remedy=RUN_AGAIN)
    state: BenchmarkShape = read_json(folder / BENCHMARK, BenchmarkShape, remedy=RUN_AGAIN)
    return Benchmark(
        folder.resolve().name,
        str(folder),
        tuple(state["cells"]),
        plan.get("published") or None,
        plan.get("scale", 1.0),
    )


def _states(path: Path) -> StatesShape:
    found: StatesShape = read_json(path, StatesShape)
    depth = len(found["layers"])
    for number, one in enumerate(found["drift"]):
        lists = [one["l2"], one["cosine"], one.get("l2_interval"), one.get("cosine_interval")]
        lengths = {len(values) for values in lists if values}
        if len(lengths) > 1 or not 1 < max(lengths, default=0) <= depth:
            raise UserError(f"{path}: drift[{number}] does not fit the {depth} layers. {MEASURE_AGAIN}")
    return found
