"""``unfooled predict``: answers for texts from the command line, a file or standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unfooled.cli import options
from unfooled.cli.console import out, print_json
from unfooled.errors import UsageError
from unfooled.untrusted import printable

if TYPE_CHECKING:
    from rich.text import Text

    from unfooled.predictors import Classifier
    from unfooled.records.prediction import Prediction

CHUNK = 256


def predict(
    run: options.Run,
    texts: Annotated[list[str] | None, typer.Argument(help="Texts to classify.", show_default=False)] = None,
    file: Annotated[
        Path | None, typer.Option(help="File with texts: one per line (txt), or CSV, TSV, JSONL, Parquet.")
    ] = None,
    text_column: Annotated[str | None, typer.Option(help="Column with the text, for --file.")] = None,
    pair: Annotated[
        list[str] | None, typer.Option(help="Second text of a pair, one for each text. Repeatable.")
    ] = None,
    pair_column: Annotated[str | None, typer.Option(help="Column with the second text, for --file.")] = None,
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
    max_votes: Annotated[int, typer.Option(help="--certified: at most so many votes per text.")] = 1000,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, mps.")] = "auto",
    json_: Annotated[bool, typer.Option("--json", help="Print one JSON object per text.")] = False,
) -> None:
    """Classify texts with a trained run.

    Example: unfooled predict runs/rsmi "a gorgeous, witty film"

    Without texts and --file, texts are read from standard input, one per line. Leaves with code 1 if a text
    was refused (empty, for example); the others are answered all the same.
    """
    from unfooled.api.load import load
    from unfooled.api.predict import certified_mode
    from unfooled.predictors.override import with_predictor

    if texts and file:
        raise UsageError("Give texts or --file, not both.")
    if pair and (file or len(pair) != len(texts or [])):
        raise UsageError(f"{len(texts or [])} texts but {len(pair)} --pair: give one --pair for each text.")
    classifier = with_predictor(
        load(run, device=device, precision="float32" if certified else "auto"),
        options.predictor_choice(predictor, set_),
    )
    if certified:
        if seed > 0:
            raise UsageError("--certified draws a secret seed: leave out --seed.")
        classifier, seed = certified_mode(classifier, error_rate=error_rate, max_votes=max_votes), -1
    refused = 0
    number = 0
    for first, second in _chunks(_inputs(classifier, texts, pair, file, text_column, pair_column)):
        answers = classifier.predict(first, second, seed=None if seed < 0 else seed)
        for index, answer in enumerate(answers):
            number += 1
            refused += bool(answer.refused)
            if json_:
                print_json({"number": number, "text": first[index], **answer.to_dict()})
            else:
                _show(first[index], second[index] if second else None, answer)
    if number == 0:
        raise UsageError("There was no text to classify. Give texts, --file, or lines on standard input.")
    if refused:
        raise typer.Exit(1)


Row = tuple[str, str | None]


def _inputs(
    classifier: Classifier,
    texts: list[str] | None,
    pair: list[str] | None,
    file: Path | None,
    text_column: str | None,
    pair_column: str | None,
) -> Iterable[Row]:
    from unfooled import data

    if texts:
        seconds: Sequence[str | None] = pair or [None] * len(texts)
        return zip(texts, seconds, strict=True)
    if file is not None:
        if classifier.takes_pairs:
            return data.read_pairs(file, text_column=text_column, pair_column=pair_column)
        return ((text, None) for text in data.read_texts(file, text_column=text_column))
    if classifier.takes_pairs:
        raise UsageError("This run classifies pairs: give TEXT and --pair TEXT, or --file with two columns.")
    if sys.stdin.isatty():
        raise UsageError("Give texts, --file, or lines on standard input.")
    lines = (line.decode("utf-8", "replace").rstrip("\r\n") for line in sys.stdin.buffer)
    return ((line, None) for line in lines)


def _chunks(rows: Iterable[Row]) -> Iterator[tuple[list[str], list[str] | None]]:
    held: list[Row] = []
    for row in rows:
        held.append(row)
        if len(held) == CHUNK:
            yield _columns(held)
            held = []
    if held:
        yield _columns(held)


def _columns(rows: list[Row]) -> tuple[list[str], list[str] | None]:
    seconds = [second for _, second in rows if second is not None]
    return [first for first, _ in rows], seconds if seconds else None


def _show(text: str, pair: str | None, answer: Prediction) -> None:
    from rich.text import Text

    shown = _marked(text, answer, 0)
    if pair is not None:
        shown = Text.assemble(shown, (" ⟷ ", "dim"), _marked(pair, answer, 1))
    if answer.refused:
        out.print(Text.assemble(("refused", "bold red"), f"  {answer.refused}  ", shown), soft_wrap=True)
        return
    score = answer.scores[answer.leader or ""]
    head = ("not sure", "bold yellow") if answer.abstained else (str(answer.label), "bold green")
    facts = f"{score:.2f}"
    if answer.votes:
        tallies = " then ".join("–".join(str(count) for count in stage.values()) for stage in answer.votes)
        facts += f", votes {tallies}, {answer.forwards} forward passes"
    if answer.truncated:
        facts += ", only the beginning was read"
    out.print(Text.assemble(head, f"  ({facts})  ", shown), soft_wrap=True)


def _marked(text: str, answer: Prediction, which: int) -> Text:
    """The text with its masked words in colour and brackets, control characters made visible."""
    from rich.text import Text

    limit = 300
    result = Text()
    position = 0
    for start, end in sorted((s, e) for w, s, e in answer.masked_spans if w == which):
        if start >= limit:
            break
        result.append(printable(text[position:start]))
        result.append(f"[{printable(text[start:end])}]", style="black on yellow")
        position = end
    result.append(printable(text[position : max(position, limit)]))
    return result.append("…") if len(text) > limit else result
