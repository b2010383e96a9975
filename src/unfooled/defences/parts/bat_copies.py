"""The copies that Balanced Adversarial Training compares each example with (Chen et al. 2022, §4.1).

A *fickle* copy means the same: every word of every text that has a substitution set is redrawn from it, the
word itself included. An *obstinate* copy means something else: one random word, of a random text of a pair
(of the other one if that text has none), becomes a WordNet antonym. Copies are drawn by (seed, epoch, number
of the example). Words that the model does not read any more, past its length, are not made obstinate.
"""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from unfooled.attacks.parts.label_change import names_tell, why_label_stays
from unfooled.data.task import Task
from unfooled.defences.session import TrainingData, TrainingExample
from unfooled.errors import UsageError
from unfooled.lexicon.stopwords import is_stop_word
from unfooled.lexicon.wordnet import antonyms
from unfooled.models import Encoded, as_texts, mix
from unfooled.models.encoding import encode_inputs
from unfooled.predictors.smoothing import SubstitutionSets, resampled
from unfooled.words.document import Document
from unfooled.words.word import WORD

_Texts = tuple[str, ...]


class Copies(NamedTuple):
    """Of one example; None where no word can be changed, or the label would stay."""

    fickle: Encoded | None
    obstinate: Encoded | None


@dataclass(frozen=True)
class MakeCopies:
    """Makes the copies of one epoch."""

    key: tuple[int, int]
    """The seed and the epoch."""
    sets: SubstitutionSets
    antonyms: Mapping[str, Sequence[str]]
    """By word, lower case. WordNet's files are read beforehand: forked processes cannot share them."""
    changing: frozenset[int]
    """The labels that a change of meaning changes."""
    tokenizer: Any
    max_length: int

    def __call__(self, examples: Sequence[TrainingExample]) -> list[Copies]:
        texts = [own for example in examples for own in self.texts(example)]
        there = [own for own in texts if own is not None]
        made = iter(encode_inputs(self.tokenizer, there, max_length=self.max_length))
        encoded = [None if own is None else next(made) for own in texts]
        return [Copies(*two) for two in zip(encoded[::2], encoded[1::2], strict=True)]

    def texts(self, example: TrainingExample) -> tuple[_Texts | None, _Texts | None]:
        """The fickle and the obstinate copy, as texts."""
        (item,) = as_texts([example.encoded])
        chooser = random.Random(mix(*self.key, example.number))
        return self._fickle(item.texts, chooser), self._obstinate(item, example.label, chooser)

    def _fickle(self, texts: _Texts, chooser: random.Random) -> _Texts | None:
        table = self.sets.substitutes()
        if not any(word in table for text in texts for word in WORD.findall(text)):
            return None
        return tuple(resampled(text, table, chooser.randrange, keep_case=True) for text in texts)

    def _obstinate(self, item: Encoded, label: int, chooser: random.Random) -> _Texts | None:
        if label not in self.changing:
            return None
        document = Document.of(*item.texts)
        read = [_read(item, own) for own in range(len(item.texts))]
        for which in chooser.sample(range(len(item.texts)), len(item.texts)):
            words = [
                number
                for number, (text, begin, end) in enumerate(document.places)
                if text == which
                and read[text][0] <= begin
                and end <= read[text][1]
                and document.words[number].lower() in self.antonyms
            ]
            if words:
                number = chooser.choice(words)
                return document.replace(
                    number, chooser.choice(self.antonyms[document.words[number].lower()])
                ).texts
        return None


def _read(item: Encoded, which: int) -> tuple[int, int]:
    """The first character of a text that the model reads, and the place after the last one."""
    places = [(begin, end) for text, begin, end in item.offsets if text == which and end]
    return min((begin for begin, _ in places), default=0), max((end for _, end in places), default=0)


def antonyms_in(data: TrainingData, changing: frozenset[int]) -> dict[str, Sequence[str]]:
    """The antonyms of all words of examples with these labels."""
    examples = zip(as_texts(data.encoded), data.labels, strict=True)
    texts = (text for item, label in examples if label in changing for text in item.texts)
    return dict(sorted(words_with_antonyms(texts)))


def words_with_antonyms(texts: Iterable[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """Each lower-case word with its antonyms, once; stop words have none, as in the attack."""
    seen = set()
    for text in texts:
        for word in WORD.findall(text.lower()):
            if word not in seen:
                seen.add(word)
                if not is_stop_word(word) and (found := antonyms(word)):
                    yield word, found


def changing_labels(defence: str, task: Task, given: Sequence[str] | None) -> frozenset[int]:
    """The labels whose examples get obstinate copies: those given, else as the task and its labels say."""
    named = shlex.quote(json.dumps(list(task.labels), ensure_ascii=False))
    remedy = (
        f"If it does for some labels, name them, for example --set obstinate_labels={named}. Otherwise "
        "choose another defence."
    )
    if given is not None:
        wrong = [name for name in given if name not in task.labels]
        if wrong or not given:
            told = f"the task has no label {wrong[0]!r}" if wrong else "it names no label"
            raise UsageError(
                f"obstinate_labels: {told}. Its labels: {', '.join(task.labels)}. Name those that an antonym "
                f"changes, for example --set obstinate_labels={named}."
            )
        return frozenset(task.labels.index(name) for name in given)
    if task.meaning_decides is False:
        raise UsageError(
            f"{defence} trains on antonyms, and the task {task.name} says that the opposite meaning does not "
            f"get another label. {remedy}"
        )
    if task.meaning_decides is None and not names_tell(task.labels):
        raise UsageError(
            f"{defence} trains on antonyms, and nothing says for which labels of {task.name} an antonym "
            f"changes the label. {remedy}"
        )
    labels = range(len(task.labels))
    return frozenset(label for label in labels if why_label_stays(task.labels, label) is None)
