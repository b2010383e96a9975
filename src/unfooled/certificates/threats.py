"""The threats of a certificate in plain words: what is promised, and what is not.

The sentences are what a reader who knows no mathematics must be able to rely on, so each says for which
changes the answer stays, with which certainty, and what lies outside.
"""

from __future__ import annotations

from dataclasses import dataclass

from unfooled.errors import UsageError
from unfooled.registry import Registry
from unfooled.settings import choose


@dataclass(frozen=True)
class Threat:
    """One kind of tampering."""

    name: str
    unit: str
    changes: str
    """The changes that are covered, with ``{r}`` for the radius and ``{thing}`` for what is classified."""
    not_covered: str
    keeps: str = ""
    """What of the answer stays, where that needs to be said: of a question, its text or its place."""

    def sentence(
        self,
        label: str,
        radius: float,
        alpha: float,
        *,
        about: str = "The smoothed classifier",
        thing: str = "text",
        nothing: bool = False,
    ) -> str:
        """The promise for one input; ``nothing``: no change of this kind can be made to it.

        ``about`` is whose answer the promise is about.
        """
        answers = f"answers «{label}»" if label else "gives no answer"
        wrong = f"the sampling behind this statement is wrong with a probability of at most {alpha:g}."
        if radius <= 0:
            covered = "nothing in it can be replaced, so nothing" if nothing else "no change"
            return f"{about} {answers} for this {thing}; {covered} is covered; {wrong}"
        number = rounded_down(radius)
        changes = self.changes.format(r=number, thing=thing, s="" if radius == 1 else "s")
        kept = f", {self.keeps}," if self.keeps else ""
        return f"{about} {answers} for this {thing} and{kept} for {changes}; {wrong}"


_NOISE_LIMITS = (
    "Not covered: texts (either text of a pair) with another number of tokens (words added, left out, or "
    "replaced by words with more or fewer tokens), and changes that move the embeddings further. Nothing is "
    "said about whether the answer is right."
)
_TEXT = (
    Threat(
        "l2",
        "embedding distance",
        "every text of the same length in tokens whose word embeddings lie within a Euclidean distance of "
        "{r} of this one's, over all words together",
        _NOISE_LIMITS,
    ),
    Threat(
        "l1",
        "sum of embedding changes",
        "every text of the same length in tokens whose word embeddings differ from this one's by at most {r} "
        "in total, summed over all coordinates of all words",
        _NOISE_LIMITS,
    ),
    Threat(
        "linf",
        "largest embedding change",
        "every text of the same length in tokens none of whose embedding coordinates differs from this one's "
        "by more than {r}",
        _NOISE_LIMITS,
    ),
    Threat(
        "each-word",
        "embedding distance of each word",
        "every text of the same length in tokens in which no token's embedding lies further than a Euclidean "
        "distance of {r} from this one's, all of them changed at once",
        _NOISE_LIMITS,
    ),
    Threat(
        "synonyms",
        "words",
        "every text made from it by replacing at most {r} word{s} by words of their substitution lists",
        "Not covered: replacements outside the substitution lists, misspellings, and words added, left out "
        "or moved. Nothing is said about whether the answer is right.",
    ),
    Threat(
        "words",
        "words",
        "every text made from it by replacing at most {r} word{s} by anything that holds no white space",
        "Not covered: words added, left out, split or joined, since the number of words must stay, and more "
        "replacements than stated; a word that moves counts as two. Nothing is said about whether the answer "
        "is right, nor whether the replacement changed the meaning.",
    ),
    Threat(
        "edits",
        "edits",
        "every text made from it by at most {r} edit{s}, each of which inserts, deletes or replaces one word "
        "by anything that holds no white space",
        "Not covered: more edits than stated; a word that moves counts as two (a deletion and an insertion), "
        "and so does a word that is split in two. Nothing is said about whether the answer is right, nor "
        "whether the edits changed the meaning.",
    ),
)
TEXT: Registry[Threat] = Registry("threat", _TEXT, needs=("unit", "changes", "not_covered"))
_OF_CONTEXT = (
    "Nothing is said about other questions, nor about whether the answer is right, nor whether the change of "
    "the context makes another answer right."
)
QUESTION = {
    "synonyms": Threat(
        "synonyms",
        "words",
        "every context made from this one by replacing at most {r} word{s} by words of their substitution "
        "lists",
        "Not covered: replacements outside the substitution lists, misspellings, and words added, left out "
        f"or moved. {_OF_CONTEXT}",
    ),
    "words": Threat(
        "words",
        "words",
        "every context made from this one by replacing at most {r} word{s} by anything that holds no white "
        "space",
        "Not covered: words added, left out, split or joined, since the number of words must stay, and more "
        f"replacements than stated; a word that moves counts as two. {_OF_CONTEXT}",
    ),
    "edits": Threat(
        "edits",
        "edits",
        "every context made from this one by at most {r} edit{s}, each of which inserts, deletes or replaces "
        "one word by anything that holds no white space",
        "Not covered: more edits than stated; a word that moves counts as two (a deletion and an insertion), "
        f"and so does a word that is split in two. {_OF_CONTEXT}",
    ),
}
"""The threats to a model that answers questions: to the context; the question is the user's."""
_TENSOR_LIMITS = (
    "Not covered: larger changes, and changes that are small to the eye but not in this distance (a shift, a "
    "rotation). Nothing is said about whether the answer is right."
)


def _distances(values: str) -> dict[str, Threat]:
    """The threats to inputs that are numbers; ``values`` is what the numbers are called."""
    return {
        "l2": Threat(
            "l2", "distance", f"every {{thing}} within a Euclidean distance of {{r}}{values}", _TENSOR_LIMITS
        ),
        "l1": Threat(
            "l1",
            "sum of changes",
            f"every {{thing}} whose values differ by at most {{r}} in total{values}",
            _TENSOR_LIMITS,
        ),
        "linf": Threat(
            "linf",
            "largest change",
            f"every {{thing}} none of whose values differs by more than {{r}}{values}",
            _TENSOR_LIMITS,
        ),
    }


OF_NUMBERS = {"tensor": _distances(""), "image": _distances(" (pixels from 0 to 1)")}
"""The threats to models that read numbers, by kind."""


def find_threat(name: str, kind: str = "text") -> Threat:
    """The threat to a kind of model; one that it does not have is refused."""
    if kind == "text":
        return TEXT.choose(name)
    if kind == "question":
        if name not in QUESTION and name in TEXT:
            raise UsageError(
                f"There is no certificate of answers to questions against --threat {name}. Choose one of "
                f"{', '.join(QUESTION)}."
            )
        return choose(QUESTION, name, kind="threat")
    return choose(OF_NUMBERS[kind], name, kind="threat")


def rounded_down(radius: float) -> str:
    """Four digits, never more than the radius."""
    if radius == int(radius):
        return str(int(radius))
    shown = float(f"{radius:.4g}")
    if shown > radius:
        digits = 3 - int(f"{radius:e}".split("e")[1])
        shown -= 10.0**-digits
    return f"{shown:.4g}"
