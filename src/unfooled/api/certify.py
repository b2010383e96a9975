"""Certify a classifier on labelled inputs or on texts, input by input, resumably.

Every finished input is one transaction in the journal, under a key of everything its certificate depends
on: the weights, the transformation, the sampling, the threat, the tables, the seed, the input. Draws are
keyed by (seed, input, draw), so a resumed run ends with the very same certificates.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled.api.certify_inputs import given_items, labelled_items, substitutes_of
from unfooled.api.certify_work import (
    JOURNAL,
    REPORT,
    TABLE,
    CertificateReport,
    CertifyProgress,
    CertifyWork,
    Item,
    secret_seed,
)
from unfooled.api.certify_work import refusal as refused_certificate
from unfooled.api.victim import classifier_identity, open_classifier
from unfooled.certificates.from_votes import make_certificate
from unfooled.certificates.procedure import check_sampling, sample_votes
from unfooled.certificates.sampling import Reading, Sampling
from unfooled.certificates.smoothing import Chosen, choose_smoothing, not_its_own
from unfooled.certificates.threats import TEXT
from unfooled.certificates.token_ids import check_model
from unfooled.certificates.word_reader import WordReader
from unfooled.data.inputs import Inputs, as_inputs
from unfooled.errors import UsageError, UserError
from unfooled.files import write_json
from unfooled.records.certificate import Certificate
from unfooled.settings import build
from unfooled.storage.journal import TEMPORARY, fingerprint, open_journal
from unfooled.storage.provenance import command, versions

if TYPE_CHECKING:
    from unfooled.lexicon.substitution import SubstitutionTable
    from unfooled.predictors import Classifier
    from unfooled.predictors.override import PredictorChoice

FORMAT = 1
CODE_VERSION = 3  # raise it when the same votes, or the same settings, would give another certificate


def certify(
    classifier: Classifier | str | Path,
    inputs: Inputs | Sequence[str] | None = None,
    *,
    threat: str = "l2",
    limit: int | None = 100,
    sampling: Sampling = Sampling(),
    bounds: Sequence[str] = (),
    reading: Reading = Reading(),
    predictor: PredictorChoice = None,
    seed: int | None = 0,
    device: str = "auto",
    out: str | Path | None = None,
    on_progress: Callable[[CertifyProgress], None] | None = None,
) -> CertificateReport:
    """Certificates for a list of texts, or for the inputs that ``inputs`` names (see :class:`Inputs`).

    ``classifier`` is a run folder or a classifier; ``predictor`` certifies another predictor than its own.
    ``sampling`` says how many draws at which error rate, ``bounds`` which bounds are computed from them (the
    first is certified), ``reading`` what is told about the words inside a radius. Of a task or file, the
    first ``limit`` inputs in stratified order are certified, and with ``out`` (a run has a default,
    RUN/certificates/THREAT) the report is kept and resumed.

    Guarantee, for each certified input that was not chosen with the seed in hand: its sentence is wrong with
    probability at most ``sampling.alpha``. ``seed=None`` draws a secret seed, which the journal keeps.

    >>> report = certify("runs/noise", ["a gorgeous, witty film"], threat="l2")
    >>> report[0].label, report[0].radius, report[0].sentence
    """
    from unfooled.predictors.override import named_settings, with_predictor

    if limit is not None and limit < 1:
        raise UsageError(f"--limit must be at least 1, got {limit}.")
    sampling = build(Sampling, vars(sampling), owner="certify")
    which = as_inputs(inputs)
    own, run = open_classifier(classifier, device=device)
    opened = with_predictor(own, predictor)
    changed = named_settings(predictor)[1]
    chosen = not_its_own(choose_smoothing(opened, threat, bounds), own, opened, changed)
    check_sampling(sampling, chosen.bounds)
    if which.texts is None:
        items, refused, source = labelled_items(opened, run, threat, limit, which)
    else:
        items, refused, source = given_items(opened, which), [], "texts"
    table = substitutes_of(chosen, reading.substitutes)
    conditions: dict[str, Any] = {
        "unfooled": versions()["unfooled"],
        "code": CODE_VERSION,
        "classifier": classifier_identity(opened) | {"predictor": None},
        "threat": threat,
        "smoothing": chosen.describe(),
        "bounds": list(chosen.bounds),
        "sampling": asdict(sampling),
        "substitutes": None if table is None else table.fingerprint(),
        "antonyms": reading.antonyms,
    }
    about = {
        "format": FORMAT,
        "classifier": str(run) if run else f"a classifier ({opened.defence})",
        "defence": opened.defence,
        "source": source,
        "labels": list(opened.labels),
        "notes": list(chosen.notes),
        "other_predictor": chosen.instead,
        "not_covered": TEXT[threat].not_covered,
        **{key: value for key, value in conditions.items() if key != "classifier"},
        "versions": versions(),
        "command": command(),
    }
    work: CertifyWork | None = None
    folder = None if out is None else Path(out)
    if out is None and run is not None and which.texts is None:
        folder = run / "certificates" / threat
    tell = on_progress or (lambda _: None)
    try:
        with open_journal(TEMPORARY if folder is None else folder / JOURNAL, TABLE) as journal:
            drawn = secret_seed(journal, conditions) if seed is None else seed
            conditions["seed"] = about["seed"] = drawn
            work = CertifyWork(items, refused, fingerprint(conditions))
            left = work.resume(journal)
            tell(work.progress)
            todo = [items[number] for number in left]
            for number, found in _certified(
                opened, chosen, todo, sampling, table, antonyms=reading.antonyms, seed=drawn
            ):
                work.keep(journal, left[number], found)
                tell(work.progress)
    except (KeyboardInterrupt, UserError):
        if folder is not None and work is not None and work.progress.done:
            write_json(folder / REPORT, work.report(about).to_dict())
        raise
    report = work.report(about)
    if folder is not None:
        write_json(folder / REPORT, report.to_dict())
    return report


def _certified(
    classifier: Classifier,
    chosen: Chosen,
    items: Sequence[Item],
    sampling: Sampling,
    table: SubstitutionTable | None,
    *,
    antonyms: bool,
    seed: int,
) -> Iterator[tuple[int, Certificate]]:
    """(number, certificate) of each input as it is finished."""
    from unfooled.lexicon import wordnet
    from unfooled.predictors.classifier import refusal

    if not items:
        return
    classifier.model.module.eval()
    reasons = [refusal(item.texts[0], item.texts[-1]) for item in items]
    # A refused text is not tokenised: it may be a million characters long.
    texts = [("",) * len(item.texts) if why else item.texts for item, why in zip(items, reasons, strict=True)]
    pairs = [own[1] for own in texts] if len(texts[0]) == 2 else None
    encoded = classifier.model.encode([own[0] for own in texts], pairs)
    reader = WordReader(classifier, substitutes=table, antonyms=wordnet.antonyms if antonyms else None)
    readable = []
    for number, (item, own) in enumerate(zip(items, encoded, strict=True)):
        reason = reasons[number]
        if not reason and not any(own.maskable):
            reason = "the text has nothing to read (only spaces or control characters)"
        reason = reason or chosen.refusal(classifier, own)
        if reason:
            yield number, refused_certificate(item, chosen.threat, reason)
        else:
            readable.append(number)
    if chosen.at_embeddings and readable:
        check_model(classifier.model, encoded[readable[0]])
    radii = chosen.radii_of(classifier, encoded)
    smoother = chosen.smoother(classifier, encoded, seed=seed)
    started = time.perf_counter()
    for number, votes in sample_votes(smoother, sampling, radii, inputs=readable):
        made = make_certificate(
            items[number].row,
            votes,
            radii(number),
            TEXT[chosen.threat],
            labels=classifier.labels,
            alpha=sampling.alpha,
            asked_radius=sampling.radius,
            forwards_a_draw=chosen.forwards_a_draw,
        )
        made = _completed(reader.read(made, encoded[number]), items[number], encoded[number].truncated)
        now = time.perf_counter()
        yield number, replace(made, seconds=now - started)
        started = now


def _completed(certificate: Certificate, item: Item, truncated: bool) -> Certificate:
    found = replace(certificate, texts=item.texts, truncated=truncated)
    return found if item.truth is None else found.with_truth(item.truth)
