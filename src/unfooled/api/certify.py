"""Certify a classifier on labelled inputs or on texts, input by input, resumably.

Every finished input is one transaction in the journal, under a key of everything its certificate depends
on: the weights, the transformation, the sampling, the threat, the tables, the seed, the input. Draws are
keyed by (seed, input, draw), so a resumed run ends with the very same certificates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.api.arguments import checks_arguments
from unfooled.api.inputs.certify_inputs import given_items, labelled_items, question_items
from unfooled.api.inputs.image_inputs import image_items, known_images
from unfooled.api.inputs.load_inputs import count_training_rows
from unfooled.api.jobs.certify_job import (
    REPORT,
    TABLE,
    CertifierOpening,
    CertifyProgress,
    CertifySpec,
    CertifyTally,
    certificate_report,
    certify_job,
    secret_seed,
)
from unfooled.api.jobs.earlier_draws import EarlierDraws
from unfooled.api.target import Target, open_classifier, open_target, travelling_classifier
from unfooled.api.tensor_classifier import PYTHON, model_name, tensor_classifier
from unfooled.certificates.certifier import IN_FLIGHT, Certifier
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.certificates.smoothing import not_its_own, not_trained_for, of_the_majority
from unfooled.certificates.threats import find_threat
from unfooled.data.inputs import Inputs, as_inputs
from unfooled.defences import deployed_for, threats_of, training_for, trains_for
from unfooled.errors import UsageError
from unfooled.live_bar import Told, following
from unfooled.records.certificate import Certificate
from unfooled.records.results.certificate_report import CertificateReport
from unfooled.settings import LARGEST_SECRET_SEED, build, check_seed, check_whole
from unfooled.storage.journal import fingerprint, open_journal
from unfooled.storage.kept import Kept
from unfooled.storage.provenance import command, versions
from unfooled.storage.questions import Question, digests
from unfooled.storage.result_sets import SetName, choose_set
from unfooled.work.executor import make_executor
from unfooled.work.job import Record

if TYPE_CHECKING:
    from torch import Tensor

    from unfooled.attacks.victim import Victim
    from unfooled.predictors import Classifier
    from unfooled.predictors.override import PredictorChoice

FORMAT = 1


@checks_arguments
def certify(
    classifier: Classifier | str | Path | Victim | Target | Callable[..., Any],
    inputs: Inputs | Sequence[str] | Tensor | None = None,
    *,
    threat: str | None = None,
    sigma: float | None = None,
    limit: int | None = 100,
    sampling: Sampling = Sampling(),
    bounds: Sequence[str] = (),
    reading: Reading = Reading(),
    predictor: PredictorChoice = None,
    seed: int | None = 0,
    device: str = "auto",
    max_queries: int | None = None,
    workers: int | None = None,
    ray: str | None = None,
    out: str | Path | SetName | None = None,
    progress: Callable[[CertifyProgress], None] | bool | None = None,
) -> CertificateReport:
    """Certificates for a list of texts, a tensor, or the inputs that ``inputs`` names (:class:`Inputs`).

    ``classifier`` is a run folder or a classifier; ``predictor`` certifies another predictor than its own.
    It may also be any other victim of ``attack`` (``hf:NAME``, ``sklearn:FILE.skops``, a function, an
    endpoint, …): then the certificates are about the majority of its answers over random versions of the
    text, which :func:`unfooled.smoothed` deploys. It is asked about no more than ``max_queries`` texts; if
    they run out, the report has what is done, and the same call goes on.
    For tensors it may be any PyTorch module or function that gives logits (or ``python:FILE.py:NAME``),
    under noise of ``sigma``. Its rows must be answered independently; radii are in the units of the values.
    ``threat`` is the tampering (None: the first one that the defence of the run trains for, else l2).
    ``sampling`` says how many draws at which error rate, ``bounds`` which bounds are computed from them (the
    first is certified), ``reading`` what is told about the words inside a radius. Of a task or file, the
    first ``limit`` inputs in stratified order are certified. Results are kept and resumed in a result set,
    RUN/certificates/THREAT, with ``out=SetName("mine")`` in RUN/certificates/mine, or in the folder ``out``;
    another question gets another result set (docs/result-sets.md). ``workers`` processes, or actors on the
    Ray cluster at the address ``ray``, share the inputs.

    Guarantee, for each certified input that was not chosen with the seed in hand: its sentence is wrong with
    probability at most ``sampling.alpha``. ``seed=None`` draws a secret seed, which the journal keeps.

    ``progress`` is called with each :class:`CertifyProgress`; None shows a bar in a terminal or a notebook,
    True everywhere, False nowhere.

    >>> report = certify("runs/noise", ["a gorgeous, witty film"], threat="l2")
    >>> report[0].label, report[0].radius, report[0].sentence
    >>> certify(network, images, threat="l2", sigma=0.25)[0].radius
    """
    from unfooled.api.smoothed import Smoothed
    from unfooled.predictors.override import named_settings, with_predictor

    check_whole("--limit", limit)
    check_seed(seed, at_most=LARGEST_SECRET_SEED)
    sampling = build(Sampling, vars(sampling), owner="certify")
    which = as_inputs(inputs)
    own, run, called = _opened(
        classifier, which, sigma=sigma, threat=threat or "l2", max_queries=max_queries, device=device
    )
    opened = with_predictor(own, predictor)
    threat = threat or _trained_threat(opened)
    changed = named_settings(predictor)[1]
    certifier = Certifier(opened, threat, sampling=sampling, bounds=bounds, reading=reading)
    if isinstance(opened, Smoothed):
        certifier.chosen = of_the_majority(certifier.chosen, opened.model)
    else:
        if opened.model.kind != "tensor" and not trains_for(opened.defence, threat):
            better = training_for(threat, opened.model.kind)
            certifier.chosen = not_trained_for(certifier.chosen, opened.defence, better)
        certifier.chosen = not_its_own(certifier.chosen, own, opened, changed)
    given = which.texts is not None or which.tensors is not None
    if given:
        source = "texts" if opened.model.kind == "text" else f"{opened.model.kind}s"
        items, refused = given_items(opened, which), list[Certificate]()
        check = None
        if opened.model.kind != "question":
            of_texts = opened.model.kind == "text"
            check = count_training_rows(run, which) if of_texts else known_images(run, items)
    elif opened.model.kind == "image":
        items, refused, source, check = image_items(opened, run, limit, which)
    elif opened.model.kind == "question":
        items, refused, source, check = question_items(run, limit, which)
    else:
        items, refused, source, check = labelled_items(opened, run, threat, limit, which)
    conditions = certifier.conditions()
    about = {
        "format": FORMAT,
        "classifier": called,
        "model": opened.identity(),
        "defence": opened.defence,
        "source": source,
        "rows": check and check.to_dict(),
        "labels": list(opened.labels),
        **certifier.describe(),
        "notes": [*certifier.chosen.notes, *(check.notes() if check else [])],
        "versions": versions(),
        "command": command(),
    }
    question = Question(
        "certify",
        {**conditions, "seed": "secret" if seed is None else seed},
        {"inputs": digests({"row": item.row, **item.told(), "label": item.truth} for item in items)},
        source,
    )
    root = None if run is None or given else run / "certificates"
    if isinstance(classifier, Target) and run is None and not given:
        root = classifier.results
    kept = choose_set(question, root, threat, out)
    about["result_set"] = kept.told()
    executor = make_executor(workers, ray)
    kept.begin(question)
    with (
        open_journal(kept.journal, TABLE) as journal,
        following(progress, f"certify {threat}", _told) as follow,
    ):
        drawn = secret_seed(journal, conditions) if seed is None else seed
        about["seed"] = drawn
        earlier = EarlierDraws(journal, conditions, sampling, drawn, others=kept.others)
        items = earlier.marked(items)
        job = certify_job(items, refused, fingerprint({**conditions, "seed": drawn}))
        tally = CertifyTally(job.total)
        if executor.in_process:
            limited = isinstance(opened, Smoothed) and opened.model.max_queries is not None
            spec = CertifySpec(certifier, drawn, 1 if limited else IN_FLIGHT)
        else:
            opening = travelling_classifier(own, predictor, opened)
            how = CertifierOpening(opening, threat, sampling, bounds, reading, conditions)
            spec = CertifySpec(how, drawn)

        def report(certificates: Kept[Certificate]) -> CertificateReport:
            made = certificate_report(certificates, about, total=job.total, settled=len(refused))
            kept.write(REPORT, made.to_dict())
            return made

        def take(record: Record) -> None:
            tally.take(record)
            earlier.take(record)

        def tell() -> None:
            asked = opened.model.queries if isinstance(opened, Smoothed) else 0
            follow(replace(tally.progress, queries=asked))

        if isinstance(opened, Smoothed):
            opened.model.on_answers = tell

        return job.run(
            journal,
            executor,
            spec,
            decode=Certificate.from_dict,
            report=report,
            take=take,
            tell=tell,
            others=kept.reusable,
        )


def _told(now: CertifyProgress) -> Told:
    return now.done, now.total, f"{now.certified:,} certified"


def _trained_threat(classifier: Classifier) -> str:
    """The first threat that its defence trains for, else one with the same predictor; l2 if there is none."""
    threats = threats_of(classifier.defence) or deployed_for(str(classifier.predictor.describe()["name"]))
    return threats[0] if threats else "l2"


def _opened(
    what: Any, inputs: Inputs, *, sigma: float | None, threat: str, max_queries: int | None, device: str
) -> tuple[Classifier, Path | None, str]:
    """The classifier, its run folder if it has one, and what reports call it."""
    from torch import nn

    from unfooled.api.smoothed import Smoothed, smoothed_for
    from unfooled.predictors import Classifier

    if inputs.tensors is not None and not isinstance(what, Classifier | Path) and not _is_folder(what):
        find_threat(threat, "tensor")
        return tensor_classifier(what, inputs.tensors, sigma=sigma, threat=threat), None, model_name(what)
    if isinstance(what, nn.Module) or (isinstance(what, str) and what.startswith(PYTHON)):
        raise UsageError("A module or function is certified for tensors: give one row per input.")
    if sigma is not None:
        raise UsageError("sigma is for a module or function; a classifier's noise is in its predictor.")
    if isinstance(what, Target) and isinstance(what.reader, Classifier):
        own, run = what.reader, what.run
    elif isinstance(what, Classifier | Path) or _is_folder(what):
        own, run = open_classifier(what, device=device)
    else:
        victim = smoothed_for(threat, open_target(what, device=device), max_queries=max_queries)
        return victim, None, victim.target.name
    if max_queries is not None:
        raise UsageError("max_queries is for a victim that is not a run; uf.smoothed takes it too.")
    named = f"a classifier ({own.defence})" if not isinstance(own, Smoothed) else own.target.name
    return own, run, str(run) if run else named


def _is_folder(what: object) -> bool:
    """Whether it names a run: other specs have a colon."""
    return isinstance(what, str) and (Path(what).is_dir() or ":" not in what)
