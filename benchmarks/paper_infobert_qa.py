"""InfoBERT's second task: questions with AddSent and AddOneSent (Wang et al. 2021, Table 4), at our scale.

    python benchmarks/paper_infobert_qa.py --train qamr/train.json:8000 --train squad/more.json \\
        --add-sent squad/add_sent.json --add-one-sent squad/add_one_sent.json --out runs/infobert-qa

Trains ``standard``, ``freelb``, ``infobert`` and ``infobert+freelb`` on the training files and on a part of
the clean paragraphs of the adversarial files; measures the other paragraphs: clean, AddSent, AddOneSent and
our own generator, and writes one report. No paragraph is in both. ``FILE:N`` takes N questions of a file at
random. Run it again after an interruption: it goes on.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import unfooled as uf
from unfooled.data.qa import AskedQuestion, QuestionRows, original_id, read_questions
from unfooled.statistics.bootstrap import bootstrap_mean

# InfoBERT's defaults for questions are the authors' settings for SQuAD. FreeLB takes the steps that it takes
# on texts, in full from the start: five times the authors' for SQuAD, and a radius that no step reaches.
FREELB = {"step_size": 0.1, "init": 0.1, "radius": 100.0, "warmup": 0.0}
DEFENCES: dict[str, dict[str, float]] = {
    "standard": {},
    "freelb": FREELB,
    "infobert": {},
    "infobert+freelb": {f"freelb.{name}": value for name, value in FREELB.items()},
}


def write(path: Path, questions: Sequence[AskedQuestion]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(question.to_dict(), ensure_ascii=False) + "\n" for question in questions)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def some_questions(given: str) -> list[AskedQuestion]:
    """The questions of FILE, or of FILE:N the N drawn with a fixed seed."""
    path, _, count = given.rpartition(":")
    if not (path and count.isdigit()):
        return list(read_questions(given).rows)
    questions = list(read_questions(path).rows)
    return random.Random("paper-infobert-qa").sample(questions, min(int(count), len(questions)))


def split_files(arguments: argparse.Namespace, folder: Path) -> dict[str, Path]:
    """The training file and the three test files, divided by paragraph."""
    adversarial = {
        name: read_questions(getattr(arguments, name)).rows for name in ("add_sent", "add_one_sent")
    }
    paragraphs = sorted(set(adversarial["add_sent"].paragraphs) | set(adversarial["add_one_sent"].paragraphs))
    random.Random("paper-infobert-qa").shuffle(paragraphs)
    trained = set(paragraphs[: round(arguments.share * len(paragraphs))])

    def part(rows: QuestionRows, *, train: bool, clean: bool) -> list[AskedQuestion]:
        return [
            question
            for question, paragraph in zip(rows.questions, rows.paragraphs, strict=True)
            if (paragraph in trained) == train and (not clean or original_id(question.id) == question.id)
        ]

    own = part(adversarial["add_sent"], train=True, clean=True)
    others = [question for given in arguments.train for question in some_questions(given)]
    files = {"train": write(folder / "train.jsonl", [*others, *own])}
    files["clean"] = write(folder / "clean.jsonl", part(adversarial["add_sent"], train=False, clean=True))
    for name, rows in adversarial.items():
        files[name] = write(folder / f"{name}.jsonl", part(rows, train=False, clean=False))
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--train", action="append", required=True, help="files with training questions")
    parser.add_argument("--add-sent", required=True)
    parser.add_argument("--add-one-sent", required=True)
    parser.add_argument("--out", type=Path, default=Path("runs/infobert-qa"))
    parser.add_argument("--share", type=float, default=0.3, help="part of the clean paragraphs to train on")
    parser.add_argument("--defence", action="append", choices=DEFENCES, help="only these; all if not given")
    parser.add_argument("--limit-test", type=int, help="questions of each test file; all if not given")
    parser.add_argument("--epochs", type=float, default=2.0)
    parser.add_argument("--lr", type=float, help="the defences' own for the shipped encoder if not given")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    files = split_files(arguments, arguments.out / "data")
    runs = []
    for name in arguments.defence or DEFENCES:
        run = arguments.out / name.replace("+", "-")
        if not (run / "unfooled.json").is_file():
            uf.train(
                run,
                data=str(files["train"]),
                kind="qa",
                defence=name,
                settings=DEFENCES[name],
                epochs=arguments.epochs,
                lr=arguments.lr,
                limit_test=500,
                limit_dev=500,
                seed=arguments.seed,
            )
        if not any(run.glob("evaluations/*/evaluation.json")):
            report = uf.evaluate(
                run,
                files["clean"],
                adversarial=[files["add_sent"], files["add_one_sent"]],
                generate=["addsent", "addonesent"],
                limit=arguments.limit_test,
                seed=arguments.seed,
            )
            print(report)
        runs.append(run)
    uf.report(*runs, out=arguments.out / "report.html")
    print_gains(runs, files["clean"])


def print_gains(runs: Sequence[Path], clean: Path) -> None:
    """F1 of each run minus that of the first, question by question; intervals draw paragraphs together."""
    paragraphs = {question.id: question.context for question in read_questions(str(clean)).rows}
    found = {run: answer_scores(run) for run in runs}
    first = found[runs[0]]
    for run in runs[1:]:
        for name, scores in found[run].items():
            ids = sorted(scores.keys() & first[name].keys())
            gains = [scores[one] - first[name][one] for one in ids]
            interval = bootstrap_mean(gains, [paragraphs[one] for one in ids])
            low, high = interval or (float("nan"), float("nan"))
            mean = 100 * sum(gains) / len(gains)
            told = f"{mean:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
            print(f"{run.name} against {runs[0].name}, {name}: F1 {told}, {len(ids)} questions")


def answer_scores(run: Path) -> dict[str, dict[str, float]]:
    """By file and question: F1 of the worst copy, and of the clean question."""
    (path,) = run.glob("evaluations/*/evaluation.json")
    files = json.loads(path.read_text(encoding="utf-8"))["adversarial"]
    found = {Path(one["source"]).stem: {row["id"]: row["f1"] for row in one["answers"]} for one in files}
    return {"clean": {row["id"]: row["clean_f1"] for row in files[0]["answers"]}, **found}


if __name__ == "__main__":
    main()
