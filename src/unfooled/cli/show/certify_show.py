"""Certificates in the terminal: the progress bar, one certificate in words, the numbers of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from unfooled.certificates.threats import rounded_down
from unfooled.cli.console import err, out, rate
from unfooled.files import JsonObject

if TYPE_CHECKING:
    from unfooled.api.jobs.certify_job import CertifyProgress
    from unfooled.records.certificate import Certificate
    from unfooled.records.results.certificate_report import CertificateReport

LINES = 8
"""Points of the curve that are shown."""


@contextmanager
def certify_progress(threat: str) -> Iterator[Callable[[CertifyProgress], None]]:
    """Gives the function to call with each :class:`CertifyProgress`."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn(f"certify {threat}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[certified]} certified{task.fields[queries]}"),
        TimeRemainingColumn(),
        console=err,
    ) as bar:
        shown = bar.add_task(threat, total=None, certified=0, queries="")

        def update(progress: CertifyProgress) -> None:
            asked = f", {progress.queries:,} queries" if progress.queries else ""
            bar.update(
                shown,
                completed=progress.done,
                total=progress.total,
                certified=progress.certified,
                queries=asked,
            )

        yield update


def show_certificate(certificate: Certificate) -> None:
    """One certificate, in words that can be relied on."""
    from rich.text import Text

    text = " ⟷ ".join(certificate.texts) or certificate.shown
    short = text if len(text) <= 200 else text[:200] + "…"
    if certificate.status == "refused":
        out.print(Text.assemble(("refused", "bold red"), f"  {certificate.message}  {short}"), soft_wrap=True)
        return
    told = certificate.answer_text
    head = (told or "abstains", "bold green" if told else "bold yellow")
    radius = f"radius {rounded_down(certificate.radius)} ({certificate.unit}), " if told else ""
    asked = f"at least {certificate.asked_radius}? {certificate.answer}, " if certificate.answer else ""
    facts = f"  ({radius}{asked}{certificate.samples:,} draws)  {short}"
    out.print(Text.assemble(head, facts), soft_wrap=True)
    lines = [certificate.sentence, certificate.not_covered]
    if certificate.words_covered is not None:
        lines.append(
            f"Of its {certificate.words_substitutable} words with listed substitutes of as many tokens (one "
            f"between two spaces), any {certificate.words_covered} may be replaced; other substitutes are "
            "not covered."
        )
    if certificate.message:
        lines.append(f"{certificate.message[0].upper()}{certificate.message[1:]}.")
    if certificate.antonyms_inside:
        examples = ", ".join(f"{a} → {b}" for a, b in certificate.antonym_examples)
        lines.append(
            f"Beware: {certificate.antonyms_inside} of {certificate.antonyms_considered} antonyms lie inside "
            f"({examples}): the answer is certified to ignore these changes of meaning."
        )
    if certificate.negations_inside:
        lines.append(
            f"Beware: {certificate.negations_inside} of its words negate (not, never, no, …); the answer is "
            "certified to ignore that any one of them is deleted."
        )
    for line in lines:
        out.print(Text(f"  {line}"), soft_wrap=True)


def show_report(report: CertificateReport) -> None:
    """The numbers of a task or file."""
    summary, about = report.summary, report.about
    counts = summary["counts"]
    right = "exact match" if "f1" in summary else "accuracy"
    name = f"certified {right}" if summary["labelled"] else "certified share"
    answered = summary["inputs"] - counts["refused"]
    out.print(
        f"{answered} inputs of {about['source']}, threat {about['threat']}, bound "
        f"{about['bounds'][0]}, error rate {about['sampling']['alpha']:g} per input",
        markup=False,
        soft_wrap=True,
    )
    _line(name, rate(summary["certified_accuracy"]))
    if "f1" in summary:
        _line("certified F1", f"{summary['f1']['value']:.3f}")
    _line("abstained", rate(summary["abstention"]))
    if counts["refused"]:
        _line("refused", str(counts["refused"]))
    average = summary["average_radius"]["value"]
    if average is not None:
        zero = "wrong and abstaining count as 0" if summary["labelled"] else "abstaining counts as 0"
        _line("average radius", f"{rounded_down(average)}  ({summary['unit']}; {zero})")
    for bound, value in list(summary["by_bound"].items())[1:]:
        _line(f"  by {bound}", rounded_down(value))
    if "asked" in summary:
        _line(f"radius ≥ {summary['asked']['radius']}", rate(summary["asked"]))
    if "words_covered" in summary:
        words = summary["words_covered"]
        _line(
            "words covered",
            f"{words['mean']:.2f} on average; {rate(words['at_least_one'])} at least one, by listed "
            "substitutes with as many tokens (others are not covered)",
        )
    if "obstinacy" in summary and summary["obstinacy"]["texts"]["n"]:
        found = summary["obstinacy"]
        _line(
            "ignores antonyms",
            f"{rate(found['texts'])}: {found['antonyms_inside']} of {found['antonyms_considered']} antonyms "
            "lie inside",
        )
    if "negations_inside" in summary.get("obstinacy", {}):
        found = summary["obstinacy"]["negations_inside"]
        _line("ignores negations", f"{found} single deletions of a negation (not, never, no, …) lie inside")
    _line("draws per input", f"{summary['samples']['value']:,.0f}, {summary['seconds']:.1f} s in all")
    if not about["complete"]:
        _line("", "not complete: run the same command again")
    _curve(summary["curve"], name)
    out.print(f"\n{about['not_covered']}", markup=False, soft_wrap=True)


def _curve(curve: list[JsonObject], name: str) -> None:
    if len(curve) < 2:
        return
    out.print(f"\n{name} at radius")
    step = max(1, (len(curve) - 1) // LINES)
    for point in curve[::step]:
        bar = "█" * round(40 * point["value"])
        scored = f"  F1 {point['f1']:.3f} " if "f1" in point else " "
        out.print(f"{rounded_down(point['radius']):>10}  {point['value']:.3f}{scored}{bar}", markup=False)


def _line(name: str, value: str) -> None:
    out.print(f"{name:<19} {value}", markup=False, soft_wrap=True)
