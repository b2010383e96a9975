"""Substitution tables: what a word may be replaced by, and what it is redrawn from (SAFER, Ye et al. 2020).

``allowed`` is the threat: an attacker may write any of S(w) for w. ``sampled`` is the defence: P(w) is S(w)
and w itself, or, with ``expand``, the whole connected component of synonyms where that is small enough, as
in SAFER. ``overlap`` is the smallest |P(w) ∩ P(w')| / max(|P(w)|, |P(w')|) over the allowed w'. Words are
lower case and looked up whatever the case in a text, so a word that capitals turn into another one (straße,
STRASSE) is left out. S is made symmetric: if w' may replace w, then w may replace w'.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unfooled import assets
from unfooled.errors import UsageError
from unfooled.files import read_json
from unfooled.lexicon.store import kept
from unfooled.words.word import WORD, same_in_any_case

SOURCES = ("counter-fitted", "wordnet")
CODE_VERSION = 2  # raise it when the same inputs would give another table
_PAIRS_AT_ONCE = 200_000


class SubstitutionTable:
    """Allowed and sampled sets of every word, and their overlaps.

    >>> table = SubstitutionTable.of({"good": ["fine", "great"]})
    >>> table.allowed("good"), table.sampled("fine")
    (('fine', 'great'), ('fine', 'good'))
    >>> table.overlap("fine")
    0.6666666666666666
    """

    def __init__(
        self,
        words: tuple[str, ...],
        allowed: tuple[NDArray[np.int64], NDArray[np.int32]],
        sampled: tuple[NDArray[np.int64], NDArray[np.int32]],
        overlaps: NDArray[np.float64],
    ) -> None:
        self.words = words
        self._number = {word: number for number, word in enumerate(words)}
        self._allowed, self._sampled, self._overlaps = allowed, sampled, overlaps
        self._sets: dict[str, tuple[str, ...]] = {}

    @classmethod
    def of(
        cls, synonyms: Mapping[str, Iterable[str]], *, expand: bool = False, most: int = 100
    ) -> SubstitutionTable:
        """A table from the synonyms of each word; what is no single word in every case is left out."""
        pairs = {
            (a, b)
            for word, others in synonyms.items()
            for a in (word.lower(),)
            for b in (other.lower() for other in others)
            if a != b and _one_word(a) and _one_word(b)
        }
        words = tuple(sorted({word for pair in pairs for word in pair}))
        number = {word: index for index, word in enumerate(words)}
        edges = np.array([(number[a], number[b]) for a, b in pairs], dtype=np.int64).reshape(-1, 2)
        return cls(words, *_built(len(words), edges, expand=expand, most=most))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word.lower() in self._number

    def allowed(self, word: str) -> tuple[str, ...]:
        """S(w): what may be written in place of the word; none for a word that is not in the table."""
        number = self._number.get(word.lower())
        return () if number is None else self._members(self._allowed, number)

    def sampled(self, word: str) -> tuple[str, ...]:
        """P(w), which a word is redrawn from, itself included; a word not in the table stays as it is."""
        if word not in self._sets:
            number = self._number.get(word.lower())
            self._sets[word] = (word,) if number is None else self._members(self._sampled, number)
        return self._sets[word]

    def overlap(self, word: str) -> float:
        """The smallest overlap of P(w) with P(w') over the allowed w'; 1 if none is allowed."""
        number = self._number.get(word.lower())
        return 1.0 if number is None else float(self._overlaps[number])

    def fingerprint(self) -> str:
        digest = hashlib.sha256("\n".join(self.words).encode())
        for part in (*self._allowed, *self._sampled):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        (folder / "words.txt").write_text("\n".join(self.words), encoding="utf-8")
        np.savez(
            folder / "table.npz",
            allowed_starts=self._allowed[0],
            allowed=self._allowed[1],
            sampled_starts=self._sampled[0],
            sampled=self._sampled[1],
            overlaps=self._overlaps,
        )

    @classmethod
    def open(cls, folder: Path) -> SubstitutionTable:
        words = tuple((folder / "words.txt").read_text(encoding="utf-8").split("\n"))
        with np.load(folder / "table.npz", allow_pickle=False) as parts:
            return cls(
                words,
                (parts["allowed_starts"], parts["allowed"]),
                (parts["sampled_starts"], parts["sampled"]),
                parts["overlaps"],
            )

    def _members(self, sets: tuple[NDArray[np.int64], NDArray[np.int32]], number: int) -> tuple[str, ...]:
        starts, members = sets
        return tuple(self.words[other] for other in members[starts[number] : starts[number + 1]])


def _one_word(text: str) -> bool:
    return WORD.fullmatch(text) is not None and same_in_any_case(text)


def load_table(
    source: str = "counter-fitted", *, min_cosine: float = 0.8, most: int = 100, expand: bool = True
) -> SubstitutionTable:
    """The table of the counter-fitted vectors or of WordNet, or of a JSON file {"word": ["synonym", …]}.

    Of the vectors, the ``most`` nearest neighbours of at least ``min_cosine``. WordNet gives lemmas that
    share a synset, in their base form. The first call computes the table and keeps it.
    """
    if source not in SOURCES and not Path(source).is_file():
        raise UsageError(
            f"There is no substitution table {source!r}. Use {', '.join(SOURCES)}, or a JSON file with the "
            "synonyms of each word."
        )
    return _loaded(source, min_cosine, most, expand, str(assets.cache_dir()))


@lru_cache(maxsize=4)
def _loaded(source: str, min_cosine: float, most: int, expand: bool, cache: str) -> SubstitutionTable:
    if source not in SOURCES:
        return SubstitutionTable.of(_read(Path(source)), expand=expand, most=most)
    made_of: dict[str, Any] = {"code": CODE_VERSION, "source": source, "most": most, "expand": expand}
    if source == "wordnet":
        from unfooled.lexicon import vector_files

        made_of["wordnet"] = vector_files.asset_digest("wordnet")
    else:
        from unfooled.lexicon.vectors import load_vectors

        made_of |= {"vectors": load_vectors(source).fingerprint(), "min_cosine": min_cosine}
    digest = hashlib.sha256(json.dumps(made_of, sort_keys=True).encode()).hexdigest()

    def build(folder: Path) -> None:
        synonyms = _wordnet() if source == "wordnet" else _neighbours(min_cosine, most)
        SubstitutionTable.of(synonyms, expand=expand, most=most).save(folder)

    return SubstitutionTable.open(kept(f"substitution-{digest[:16]}", build))


def _neighbours(min_cosine: float, most: int) -> dict[str, list[str]]:
    from unfooled.lexicon.vectors import load_vectors

    vectors = load_vectors("counter-fitted")
    table = vectors.neighbour_table(vectors.words, most, min_cosine)
    return {word: [other for other, _ in near] for word, near in table.items()}


def _wordnet() -> dict[str, list[str]]:
    from unfooled.lexicon import wordnet

    found: dict[str, list[str]] = {}
    for a, b in wordnet.synonym_pairs():
        found.setdefault(a, []).append(b)
    return found


def _read(path: Path) -> dict[str, list[str]]:
    remedy = 'It must hold the synonyms of each word, as {"good": ["fine", "great"]}.'
    found: dict[str, list[str]] = read_json(path, dict[str, list[str]], remedy=remedy)
    return found


def _built(words: int, edges: NDArray[np.int64], *, expand: bool, most: int) -> tuple[Any, Any, Any]:
    """Allowed sets, sampled sets (each as starts and members) and the smallest overlap of every word."""
    from scipy import sparse

    def matrix(first: NDArray[np.int64], second: NDArray[np.int64]) -> Any:
        made = sparse.csr_matrix((np.ones(len(first), np.int32), (first, second)), shape=(words, words))
        made.data[:] = 1
        made.sort_indices()
        return made

    allowed = matrix(np.r_[edges[:, 0], edges[:, 1]], np.r_[edges[:, 1], edges[:, 0]])
    every = np.arange(words)
    sampled = matrix(
        np.r_[np.repeat(every, np.diff(allowed.indptr)), every],
        np.r_[allowed.indices.astype(np.int64), every],
    )
    if expand and words:
        count, component = sparse.csgraph.connected_components(allowed, directed=False)
        small = np.bincount(component, minlength=count)[component] <= most
        member = sparse.csr_matrix((np.ones(words, np.int32), (every, component)), shape=(words, count))
        whole = (sparse.diags(small.astype(np.int32), dtype=np.int32) @ member @ member.T).tocoo()
        own = (sparse.diags((~small).astype(np.int32), dtype=np.int32) @ sampled).tocoo()
        keep_whole, keep_own = whole.data > 0, own.data > 0
        sampled = matrix(
            np.r_[whole.row[keep_whole], own.row[keep_own]].astype(np.int64),
            np.r_[whole.col[keep_whole], own.col[keep_own]].astype(np.int64),
        )
    sizes = np.diff(sampled.indptr)
    first = np.repeat(every, np.diff(allowed.indptr))
    second = allowed.indices.astype(np.int64)
    overlaps = np.ones(words)
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        a, b = first[start : start + _PAIRS_AT_ONCE], second[start : start + _PAIRS_AT_ONCE]
        common = np.asarray(sampled[a].multiply(sampled[b]).sum(axis=1)).ravel()
        np.minimum.at(overlaps, a, common / np.maximum(sizes[a], sizes[b]))
    return (
        (allowed.indptr.astype(np.int64), allowed.indices.astype(np.int32)),
        (sampled.indptr.astype(np.int64), sampled.indices.astype(np.int32)),
        overlaps,
    )
