"""F1 and exact match of answers, with the normalisation of SQuAD's official scripts.

An answer is lowered, loses its punctuation and the words a, an and the, and its white space is made even
(Rajpurkar et al. 2016). The best score over all right answers counts. A question without a right answer
(SQuAD 2.0) is answered rightly by no answer, which is the empty text. Right answers of which nothing is left
are dropped, as in the script of version 2.0; that of 1.1 keeps them, with F1 0 for everything.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable
from typing import cast

NO_ANSWER = ""
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(text: str) -> str:
    """The text as answers are compared."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: object, truth: object) -> float:
    """1 if the answer is one of the right answers, normalised."""
    own = normalised(cast(str, answer))
    return float(any(own == normalised(one) for one in _right(truth)))


def f1(answer: object, truth: object) -> float:
    """The best F1 of words over all right answers."""
    own = normalised(cast(str, answer)).split()
    return max(_overlap(own, normalised(one).split()) for one in _right(truth))


def _right(truth: object) -> list[str]:
    """The right answers that normalisation leaves; no answer, if there is none."""
    found = [one for one in cast("Iterable[str]", truth) if normalised(one)]
    return found or [NO_ANSWER]


def _overlap(answer: list[str], truth: list[str]) -> float:
    if not answer or not truth:
        return float(answer == truth)
    shared = sum((Counter(answer) & Counter(truth)).values())
    # 2·P·R / (P + R), with P = shared / answer and R = shared / truth.
    return 2 * shared / (len(answer) + len(truth))
