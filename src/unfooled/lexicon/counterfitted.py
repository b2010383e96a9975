"""The toolkit's own counter-fitted vectors: GloVe fitted to WordNet, computed once and kept.

WordNet's synsets join words in rare senses too («bad» and «big»), so a synonym pair weighs as much as
both words are used in the shared sense, by the counts of tagged text. Pairs of lemmas stand for all their
forms (walked/strolled), which WordNet does not list.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict
from pathlib import Path

from unfooled.assets import digest
from unfooled.errors import DataError
from unfooled.lexicon import inflection, vector_files, wordnet_files
from unfooled.lexicon.counterfit import CounterFitting, WordPair, check_fit, counter_fit
from unfooled.lexicon.store import kept
from unfooled.lexicon.vectors import Vectors

CODE_VERSION = 1  # raise it when the same inputs would give other vectors
_SMOOTHING = 2.0  # occurrences added to every word, so that a rare one is not all one sense


def load(
    *,
    ppdb: Path | None = None,
    settings: CounterFitting | None = None,
    report: Callable[[str], None] | None = None,
) -> Vectors:
    """GloVe counter-fitted to WordNet, and to the paraphrases in ``ppdb``; ``report`` says what happens."""
    settings = settings or CounterFitting()
    key = f"counter-fitted-{_input_digest(ppdb, settings)[:16]}"
    return vector_files.open_folder(
        kept(key, lambda folder: _build(folder, ppdb=ppdb, settings=settings, report=report or _to_stderr))
    )


def synonym_weights(vocabulary: Collection[str]) -> dict[WordPair, float]:
    """Pairs of forms of synonyms, each with the product of both words' shares of the common sense."""
    occurrences = wordnet_files.occurrences()

    def share(sense: wordnet_files.Sense, form: str) -> float:
        total = occurrences[sense.lemma] + _SMOOTHING
        if form != sense.lemma and form in occurrences:  # «moving» is a lemma besides a form of «move»
            total += occurrences[form] + _SMOOTHING
        return (sense.count + 1 / sense.rank) / total

    weights: dict[WordPair, float] = {}
    for a, b in wordnet_files.synonymous_senses():
        for first, second in _forms(a.lemma, b.lemma, a.pos):
            if first in vocabulary and second in vocabulary:
                pair = (first, second) if first < second else (second, first)
                weights[pair] = max(weights.get(pair, 0.0), share(a, first) * share(b, second))
    return weights


def antonym_forms(vocabulary: Collection[str]) -> list[WordPair]:
    """WordNet's antonyms in all forms they share."""
    found = dict.fromkeys(
        (first, second)
        for a, b, pos in wordnet_files.antonymous_lemmas()
        for first, second in _forms(a, b, pos)
        if first in vocabulary and second in vocabulary
    )
    return list(found)


def ppdb_pairs(path: Path) -> Iterator[WordPair]:
    """Pairs of single words from lines ``word1 word2`` or PPDB's own ``[POS] ||| word1 ||| word2 ||| …``."""
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                fields = line.split(" ||| ")[1:3] if "|||" in line else line.split()
                if not line.strip():
                    continue
                if len(fields) != 2:
                    raise DataError(
                        f"{path}, line {number}: expected «word1 word2» or a line of PPDB with ' ||| '."
                    )
                first, second = (field.strip().lower() for field in fields)
                if " " not in first and " " not in second and first != second:
                    yield first, second
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text. Give PPDB unpacked, as text.") from error


def _forms(first: str, second: str, pos: str) -> set[WordPair]:
    """The pair itself and both words in every form that both have."""
    forms, others = inflection.forms(first, pos), inflection.forms(second, pos)
    shared = {(form, others[tag]) for tag, form in forms.items() if tag in others}
    return {pair for pair in shared | {(first, second)} if pair[0] != pair[1]}


def _build(
    folder: Path, *, ppdb: Path | None, settings: CounterFitting, report: Callable[[str], None]
) -> None:
    started = time.monotonic()
    report("Fitting word vectors to WordNet, once (a minute or two) ...")
    glove = vector_files.load_asset("glove")
    vocabulary = frozenset(glove.words)
    synonyms = synonym_weights(vocabulary)
    antonyms = antonym_forms(vocabulary)
    paraphrases = [] if ppdb is None else list(ppdb_pairs(ppdb))
    fitted = counter_fit(glove, synonyms | dict.fromkeys(paraphrases, 1.0), antonyms, settings=settings)
    check_fit(glove, Vectors(glove.words, fitted), synonyms, antonyms)
    vector_files.write(folder, list(glove.words), fitted, table=True)
    report(
        f"Word vectors fitted: {len(synonyms) + len(paraphrases):,} pairs of synonyms, {len(antonyms):,} of "
        f"antonyms, {time.monotonic() - started:.0f} s."
    )


def _input_digest(ppdb: Path | None, settings: CounterFitting) -> str:
    from importlib.metadata import version

    inputs = {
        "code": CODE_VERSION,
        "glove": vector_files.asset_digest("glove"),
        "wordnet": vector_files.asset_digest("wordnet"),
        "lemminflect": version("lemminflect"),
        "ppdb": None if ppdb is None else digest.of_file(ppdb),
        "settings": asdict(settings),
    }
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()


def _to_stderr(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
