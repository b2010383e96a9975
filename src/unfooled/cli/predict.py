"""``unfooled predict``: answers for texts from the command line, a file or standard input."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from unfooled.cli.console import err, leave_if_refused, out, print_json
from unfooled.cli.options import common_options as options
from unfooled.errors import UsageError
from unfooled.records.input_kind import things
from unfooled.untrusted import printable

if TYPE_CHECKING:
    from rich.text import Text

    from unfooled.predictors import Classifier
    from unfooled.records.prediction import Prediction

CHUNK = 256


def predict(
    run: options.Run,
    texts: Annotated[
        list[str] | None,
        typer.Argument(help="Texts to classify; image files for a run on images.", show_default=False),
    ] = None,
    file: Annotated[
        Path | None, typer.Option(help="File with texts: one per line (txt), or CSV, TSV, JSONL, Parquet.")
    ] = None,
    text_column: Annotated[str | None, typer.Option(help="Column with the text, for --file.")] = None,
    pair: Annotated[
        list[str] | None, typer.Option(help="Second text of a pair, one for each text. Repeatable.")
    ] = None,
    pair_column: Annotated[str | None, typer.Option(help="Column with the second text, for --file.")] = None,
    question: options.QuestionAsked = None,
    context: options.QuestionContext = None,
    encoding: Annotated[
        str, typer.Option(help="Character encoding of --file or of standard input.")
    ] = "utf-8",
    predictor: options.PredictorName = None,
    set_: options.PredictorSettings = None,
    seed: Annotated[
        int,
        typer.Option(help="Seed of the noise: the same seed and text give the same votes. -1: fresh noise."),
    ] = 0,
    certified: Annotated[
        bool,
        typer.Option(
            "--certified",
            help="Answer with the smoothed majority that certificates are about, or abstain; secret seed.",
        ),
    ] = False,
    error_rate: Annotated[
        float, typer.Option(help="--certified: probability that an answer is not that majority.")
    ] = 0.001,
    max_votes: Annotated[int, typer.Option(help="--certified: largest number of votes per text.")] = 1000,
    show: Annotated[
        Literal["anchored"] | None,
        typer.Option(
            help="anchored: mark the words whose gradient is neither small nor large (InfoBERT).",
            show_default=False,
        ),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, mps.")] = "auto",
    out_: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Write the answers to this file, .csv or .jsonl, beside the columns of the input.",
            show_default=False,
        ),
    ] = None,
    json_: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per text; with --out, one in all.")
    ] = False,
) -> None:
    """Classify texts, or image files, with a trained run.

    Example: unfooled predict runs/rsmi "a gorgeous, witty film"

    A run on images: unfooled predict runs/digits seven.png

    A run on questions: unfooled predict runs/qa --question "Who won?" --context "The Broncos won."

    Without texts and --file, texts are read from standard input, one per line, and answered as they arrive.
    Exits with code 1 if a text was refused (empty, for example); the others are answered.
    """
    from unfooled.api.load import load
    from unfooled.api.predict import certified_mode
    from unfooled.predictors.anchored import with_anchored_words
    from unfooled.predictors.override import with_predictor
    from unfooled.records.prediction_file import check_suffix, prediction_file

    if texts and file:
        raise UsageError("Give texts or --file, not both.")
    if pair and (file or len(pair) != len(texts or [])):
        raise UsageError(f"{len(texts or [])} texts but {len(pair)} --pair: give one --pair for each text.")
    if out_ is not None:
        check_suffix(out_)
        if file is not None and out_.resolve() == file.resolve():
            raise UsageError(f"--out {out_} is the file to read. Choose another name.")
    if question or context:
        if texts or pair:
            raise UsageError("Give --question and --context, or texts, not both.")
        texts, pair = options.questions_with_contexts(question or [], context or [])
        if file is not None:
            raise UsageError("Give --question and --context, or --file, not both.")
    chosen_seed = options.seed_or_secret(seed)
    classifier = with_predictor(
        load(run, device=device, precision="float32" if certified else "auto"),
        options.predictor_choice(predictor, set_),
    )
    if certified:
        if chosen_seed:
            raise UsageError("--certified draws a secret seed: leave out --seed.")
        classifier = certified_mode(classifier, error_rate=error_rate, max_votes=max_votes)
        chosen_seed = None
    asks = classifier.model.kind == "question"
    if asks != bool(question) and (asks or question) and file is None:
        raise UsageError(
            "This run answers questions: give --question and --context, or --file with questions."
            if asks
            else "--question and --context are for a run on questions; this one classifies. Give texts."
        )
    given = _given(classifier, texts, pair, file, text_column, pair_column, encoding)
    tally = Counter[str]()
    with ExitStack() as stack:
        written = None
        if out_ is not None:
            written = stack.enter_context(prediction_file(out_, given.columns, classifier.labels))
        # Where answers are shown on the terminal, a bar would only run through them.
        named = things([classifier.model.kind])
        shown = bool(out_) or not out.is_terminal
        advance = stack.enter_context(_progress(given.total, named, shown=shown))
        for group in given.groups:
            first, *second = (list(column) for column in zip(*(own for own, _ in group), strict=True))
            answers = classifier.predict(first, second[0] if second else None, seed=chosen_seed)
            if show is not None:
                answers = with_anchored_words(classifier, answers)
            for (own, cells), answer in zip(group, answers, strict=True):
                tally[_outcome(answer)] += 1
                if written is not None:
                    written.write(cells, answer)
                elif json_:
                    print_json({"number": tally.total(), "text": own[0], **answer.to_dict()})
                else:
                    (_show if answer.span is None else _show_span)(own, answer)
            sys.stdout.flush()
            advance(len(group))
        if not tally:
            raise UsageError(
                f"There were no {named} to classify. Give {named}, --file, or lines on standard input."
            )
    if out_ is not None:
        _show_tally(tally, out_, named, as_json=json_)
    leave_if_refused(tally[REFUSED], tally.total())


Row = tuple[tuple[str, ...], Mapping[str, object]]
"""The text, or both texts of a pair; and the cells that are passed on."""
REFUSED, UNSURE, NO_ANSWER = "(refused)", "(not sure)", "(no answer)"
ANSWERED = "(answered)"
"""Of questions, whose answers are all different."""


@dataclass(frozen=True)
class Given:
    """What is to be classified, in groups that are answered together."""

    columns: Sequence[str]
    groups: Iterable[Sequence[Row]]
    total: int | None = None
    """None if nobody knows yet."""


def _given(
    classifier: Classifier,
    texts: list[str] | None,
    pair: list[str] | None,
    file: Path | None,
    text_column: str | None,
    pair_column: str | None,
    encoding: str,
) -> Given:
    from unfooled import data

    if texts:
        own: list[tuple[str, ...]] = (
            list(zip(texts, pair, strict=True)) if pair else [(one,) for one in texts]
        )
        columns = ["text", "pair"] if pair else ["text"]
        cells: Sequence[Mapping[str, object]] = [dict(zip(columns, one, strict=True)) for one in own]
    elif file is not None and classifier.model.kind == "question":
        from unfooled.data.qa import asked_rows

        found = asked_rows(file, encoding=encoding)
        columns, own, cells = list(found.columns), list(found.texts), found.cells
    elif file is not None:
        found = data.read_rows(
            file,
            text_column=text_column,
            pair_column=pair_column,
            pairs=classifier.takes_pairs,
            encoding=encoding,
        )
        columns, own, cells = list(found.columns), list(found.texts), found.cells
    else:
        if classifier.takes_pairs:
            raise UsageError(
                "This run classifies pairs: give TEXT and --pair TEXT, or --file with two columns."
            )
        if sys.stdin.isatty():
            raise UsageError("Give texts, --file, or lines on standard input.")
        lines = data.arriving_lines(sys.stdin.buffer, encoding=encoding)  # type: ignore[arg-type]
        return Given(["text"], ([((line,), {"text": line}) for line in group] for group in lines))
    rows: list[Row] = list(zip(own, cells, strict=True))
    groups = (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
    return Given(columns, groups, len(rows))


@contextmanager
def _progress(total: int | None, named: str, *, shown: bool) -> Iterator[Callable[[int], object]]:
    """Gives the function to call with the number of inputs that were answered."""
    if not (shown and err.is_terminal):
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(named), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err) as bar:
        task = bar.add_task(named, total=total)
        yield lambda number: bar.advance(task, number)


def _outcome(answer: Prediction) -> str:
    if answer.refused or answer.abstained:
        return REFUSED if answer.refused else UNSURE
    return str(answer.label) if answer.span is None else (ANSWERED if answer.label else NO_ANSWER)


def _show_tally(tally: Counter[str], file: Path, named: str, *, as_json: bool) -> None:
    if as_json:
        return print_json({"out": str(file), named: tally.total(), "answers": dict(tally)})
    counted = ", ".join(f"{name}: {count:,}" for name, count in tally.most_common())
    out.print(f"{tally.total():,} {named} ({counted}). Saved in {file}", soft_wrap=True)


def _show(texts: tuple[str, ...], answer: Prediction) -> None:
    from rich.text import Text

    shown = Text(" ⟷ ", "dim").join(_marked(text, answer, which) for which, text in enumerate(texts))
    if answer.refused:
        out.print(Text.assemble(("refused", "bold red"), f"  {answer.refused}  ", shown), soft_wrap=True)
        return
    out.print(Text.assemble(_head(answer), f"  ({_facts(answer)})  ", shown), soft_wrap=True)


def _show_span(texts: tuple[str, ...], answer: Prediction) -> None:
    """An answer to a question, and the sentence of the context that it stands in."""
    from rich.text import Text

    from unfooled.words.sentence_places import sentence_around

    assert answer.span is not None
    context = texts[1]
    start, end = answer.span
    shown = Text(printable(texts[0]), "dim")
    if end > start:
        first, last = sentence_around(context, start, end)
        before, after = printable(context[first:start]), printable(context[end:last])
        found = Text.assemble(before, (f"[{printable(context[start:end])}]", "bold cyan"), after)
        shown = Text("  ").join([shown, found])
    out.print(Text.assemble(_head(answer), f"  ({_facts(answer)})  ", shown), soft_wrap=True)


def _head(answer: Prediction) -> tuple[str, str]:
    if answer.abstained:
        return "not sure", "bold yellow"
    return printable(str(answer.label)) or NO_ANSWER, "bold green"


def _facts(answer: Prediction) -> str:
    facts = f"{answer.scores[answer.leader or '']:.2f}"
    if answer.votes:
        stages = [
            ", ".join(
                f"{printable(name) or NO_ANSWER} {count}"
                for name, count in stage.items()
                if count or answer.span is None
            )
            for stage in answer.votes
        ]
        facts += f"; votes: {', then '.join(stages)}; {answer.forwards} forward passes"
    if answer.truncated:
        facts += ", only the beginning was read"
    return facts


def _marked(text: str, answer: Prediction, which: int) -> Text:
    """The text with its anchored, else its masked words in colour and brackets; control characters show."""
    from rich.text import Text

    limit = 300
    result = Text()
    position = 0
    spans, style = answer.anchored_spans, "bold cyan"
    if not spans:
        spans, style = answer.masked_spans, "black on yellow"
    for start, end in sorted((s, e) for w, s, e in spans if w == which):
        if start >= limit:
            break
        result.append(printable(text[position:start]))
        result.append(f"[{printable(text[start:end])}]", style=style)
        position = end
    result.append(printable(text[position : max(position, limit)]))
    return result.append("…") if len(text) > limit else result
