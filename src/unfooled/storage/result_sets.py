"""Result sets: folders that record the question they answer, so that no result replaces that of another.

A question is everything that its records depend on (``conditions``) and lists of what was asked, in order:
the inputs, the repeats, the successes of each attack. The rule is the same for attack, certify, repeat and
represent:

- the same question, or one whose lists begin with those of the set, goes on in the set;
- a part of what a set holds (a smaller ``--limit``) is answered from it, and its report stays;
- another question gets a set of its own: NAME, then NAME-2, NAME-3 and so on. A folder that was named
  (``--name``, ``--out``) and holds another question is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from unfooled.errors import UsageError, UserError
from unfooled.files import JsonObject, writable, write_json
from unfooled.storage.journal import TEMPORARY
from unfooled.storage.kept import JOURNAL
from unfooled.storage.questions import QUESTION, Question, Relation, read_question

REPORTS = ("attack.json", "certificate.json", "repeat.json", "representations.json")


@dataclass(frozen=True)
class SetName:
    """The name of a result set of a run, where a folder could be named instead."""

    name: str


@dataclass(frozen=True)
class ResultSet:
    """The folder for the results of a question, None if they are not kept."""

    folder: Path | None = None
    part: bool = False
    """The set holds more than what is asked now, and its report stays."""
    note: str = ""
    """What to tell about the choice of the folder."""
    others: tuple[Path, ...] = ()
    """The result sets in the same folder."""
    shares: bool = False
    """Whether records are taken over from the others: they belong to the same run."""

    @property
    def journal(self) -> Path:
        """Where the journal is."""
        return TEMPORARY if self.folder is None else self.folder / JOURNAL

    @property
    def reusable(self) -> list[Path]:
        """The journals from which records are taken over."""
        return [path for folder in self.others if self.shares and (path := folder / JOURNAL).is_file()]

    def begin(self, question: Question) -> None:
        """Record the question, before the first answer."""
        if self.folder is not None and not self.part:
            write_json(self.folder / QUESTION, question.to_dict())

    def write(self, file: str, report: JsonObject) -> None:
        """Keep the report, unless the set has a larger one."""
        if self.folder is not None and not (self.part and (self.folder / file).is_file()):
            write_json(self.folder / file, report)

    def told(self) -> JsonObject | None:
        """What a report says about its set."""
        if self.folder is None:
            return None
        return {"name": self.folder.name, "folder": writable(self.folder), "note": self.note}


@dataclass
class Rehearsal:
    """A time in which result sets are chosen and not written; ``chosen`` says which one it would be."""

    chosen: JsonObject | None = None


_REHEARSAL: ContextVar[Rehearsal | None] = ContextVar("rehearsal", default=None)


@contextmanager
def rehearsing() -> Iterator[Rehearsal]:
    """Inside, nothing is kept."""
    before = _REHEARSAL.set(Rehearsal())
    try:
        yield _REHEARSAL.get() or Rehearsal()
    finally:
        _REHEARSAL.reset(before)


def rehearsal() -> Rehearsal | None:
    """The rehearsal that is going on."""
    return _REHEARSAL.get()


def choose_set(
    question: Question, root: Path | None, default: str, out: str | Path | SetName | None = None
) -> ResultSet:
    """The set for ``question``: the one that ``out`` names (a folder, or a set in ``root``), or that fits."""
    chosen = _chosen(question, root, default, out)
    if (now := rehearsal()) is None:
        return chosen
    now.chosen = chosen.told()
    known = (chosen.folder,) if chosen.folder else ()
    return ResultSet(others=known + (chosen.others if chosen.shares else ()), shares=True)


def _chosen(
    question: Question, root: Path | None, default: str, out: str | Path | SetName | None
) -> ResultSet:
    if isinstance(out, str | Path):
        chosen = _named(question, Path(out), "--out FOLDER")
        return replace(chosen, others=_beside(Path(out), question.kind))
    if root is None:
        if out is not None:
            raise UsageError("Only results of a run have names: give --out FOLDER instead of --name.")
        return ResultSet()
    sets = _sets(root)
    if out is not None:
        chosen = _named(question, root / _checked(out.name), "--name NAME")
    else:
        chosen = _found(question, root, sets, default)
    return replace(chosen, others=tuple(one for one in sets if one != chosen.folder), shares=True)


def set_aside(folder: Path) -> None:
    """Give the folder of a result set another name, NAME-before, to make room for another question."""
    if _occupied(folder):
        taken = [one.name for one in folder.parent.iterdir()]
        names = (f"{folder.name}-before{'' if number == 1 else f'-{number}'}" for number in count(1))
        folder.rename(folder.with_name(next(name for name in names if name not in taken)))


def _named(question: Question, folder: Path, option: str) -> ResultSet:
    kept = read_question(folder)
    if kept is None:
        if _occupied(folder):
            raise UsageError(
                f"{writable(folder)} holds results that do not say which question they answer. Results are "
                f"never overwritten: choose another {option}."
            )
        return ResultSet(folder)
    relation = question.relation(kept)
    if relation == "other":
        raise UsageError(
            f"{writable(folder)} holds results of another question ({question.difference(kept)}). Results "
            f"are never overwritten: choose another {option}, or undo the change to go on."
        )
    return _fitting(question, kept, folder, relation)


def _found(question: Question, root: Path, sets: Sequence[Path], default: str) -> ResultSet:
    known = {folder: kept for folder in sets if (kept := read_question(folder)) is not None}
    relations = {folder: question.relation(kept) for folder, kept in known.items()}
    for wanted in ("same", "part", "larger"):
        for folder, relation in relations.items():
            if relation == wanted:
                return _fitting(question, known[folder], folder, relation)
    default = re.sub(r"[^\w.+-]+", "-", default).strip("-.+")[:80] or "results"
    first = root / default
    if not _occupied(first):
        return ResultSet(first)
    chosen = next(one for number in count(2) if not _occupied(one := root / f"{default}-{number}"))
    kept = known.get(first)
    why = f"another question ({question.difference(kept)})" if kept else "other results"
    return ResultSet(
        chosen,
        note=f"{writable(first)} answers {why}. It stays as it is; these results are named {chosen.name}.",
    )


def _fitting(question: Question, kept: Question, folder: Path, relation: Relation) -> ResultSet:
    if relation != "part":
        return ResultSet(folder)
    held = ", ".join(f"{len(own):,} {name}" for name, own in kept.asked.items())
    return ResultSet(folder, True, f"{writable(folder)} holds more ({held}). Its report stays as it is.")


def _sets(root: Path) -> list[Path]:
    """Every result set in a folder, by name."""
    return sorted(one for one in root.iterdir() if _occupied(one)) if root.is_dir() else []


def _beside(folder: Path, kind: str) -> tuple[Path, ...]:
    """The result sets of the same verb in the same folder; those that cannot be read are left alone."""
    found = []
    for other in sorted(file.parent for file in folder.parent.glob(f"*/{QUESTION}")):
        with suppress(UserError):
            kept = None if other == folder else read_question(other)
            if kept is not None and kept.kind == kind:
                found.append(other)
    return tuple(found)


def _occupied(folder: Path) -> bool:
    return any((folder / name).exists() for name in (QUESTION, JOURNAL, *REPORTS))


def _checked(name: str) -> str:
    if not re.fullmatch(r"\w[\w.+-]{0,99}", name):
        raise UsageError(
            f"--name {name}: a name has letters, digits, '.', '-', '+' and '_', at most 100 of them, and "
            "begins with a letter or digit."
        )
    return name
