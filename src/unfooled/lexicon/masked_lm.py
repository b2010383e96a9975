"""Which words a masked language model expects in place of a span (BAE's candidates).

BAE (Garg & Ramakrishnan 2020) asks a pre-trained BERT. Any Hugging Face masked language model will do
(:func:`load_masked_lm`); the default is fitted once to the task's own text and cached
(:func:`fit_masked_lm`). The span becomes one mask token and the answers are whole words; of a long
text the model reads a window around the span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unfooled import assets
from unfooled.errors import UsageError
from unfooled.hub.batches import length_sorted_chunks, padded_inputs
from unfooled.hub.devices import device_named
from unfooled.hub.pretrained import longest_input, open_pair, quiet
from unfooled.lexicon.store import kept
from unfooled.settings import build

if TYPE_CHECKING:
    from torch import Tensor

    from unfooled.lexicon.masked_lm_fit import OnStep

_BATCH_TOKENS = 2048  # a row of short text still costs a vocabulary of probabilities
_SHORT_WORDS = frozenset({"a", "i"})


class MaskedLM:
    """A masked language model that proposes whole words.

    >>> model = load_masked_lm("runs/my-masked-lm")
    >>> model.fill([("a gorgeous , witty film", 2, 10)], count=3)
    [(('funny', 0.08), ('smart', 0.05), ('clever', 0.04))]
    """

    def __init__(self, model: Any, tokenizer: Any, *, device: str = "auto", name: str = "") -> None:
        _check_tokenizer(tokenizer)
        self.name = name
        self.tokenizer = tokenizer
        self.device = device_named(device)
        self.model = model.to(self.device).eval()
        self.max_tokens = longest_input(model, tokenizer)
        self._before, self._after = _special_ids(tokenizer)
        self._words = whole_words(tokenizer)
        self._word_ids = sorted(
            id for id in self._words if id < model.get_output_embeddings().weight.shape[0]
        )

    def fill(
        self, items: Sequence[tuple[str, int, int]], count: int = 50
    ) -> list[tuple[tuple[str, float], ...]]:
        """For each ``(text, start, end)`` the ``count`` most probable words in place of ``text[start:end]``.

        Each with its probability among all pieces of the vocabulary, most probable first; the word that
        stands there now may be among them. Only whole words of letters, of two or more but for «a»
        and «i». Batching does not change the answer beyond float rounding.
        """
        import torch

        if count < 1:
            raise UsageError(f"count must be at least 1, got {count}.")
        rows = [self._masked(*item) for item in items]
        answers: list[tuple[tuple[str, float], ...]] = [()] * len(rows)
        allowed = torch.tensor(self._word_ids, device=self.device)
        with torch.inference_mode():
            for batch in length_sorted_chunks([len(ids) for ids, _ in rows], _BATCH_TOKENS):
                inputs = padded_inputs([rows[i][0] for i in batch], self.tokenizer.pad_token_id, self.device)
                positions = torch.tensor([rows[i][1] for i in batch], device=self.device)
                rows_of = torch.arange(len(batch), device=self.device)
                logits = logits_at(self.model, inputs, rows_of, positions)
                chances = logits.float().softmax(-1)[:, allowed]
                best = chances.topk(min(count, len(self._word_ids)), dim=-1)
                ids = allowed[best.indices].tolist()
                for index, words, values in zip(batch, ids, best.values.tolist(), strict=True):
                    answers[index] = tuple(
                        (self._words[word], value) for word, value in zip(words, values, strict=True)
                    )
        return answers

    def _masked(self, text: str, start: int, end: int) -> tuple[list[int], int]:
        """Token ids with the span as one mask token, within the model's length; and the mask's position."""
        if not 0 <= start < end <= len(text):
            raise UsageError(f"The span {start}:{end} is not within the text of {len(text)} characters.")
        # The space before a mask is the mask's own for byte-level vocabularies and nothing for the others.
        left = self._pieces(text[:start].rstrip())
        right = self._pieces(text[end:])
        room = self.max_tokens - len(self._before) - len(self._after) - 1
        from_left = min(len(left), max(room // 2, room - len(right)))
        left = left[len(left) - from_left :]
        right = right[: room - from_left]
        ids = [*self._before, *left, self.tokenizer.mask_token_id, *right, *self._after]
        return ids, len(self._before) + len(left)

    def _pieces(self, text: str) -> list[int]:
        # Text that spells «[MASK]» is text.
        result = self.tokenizer(
            text, add_special_tokens=False, split_special_tokens=True, verbose=False, truncation=False
        )
        return list(result["input_ids"])


def load_masked_lm(name: str | Path, *, device: str = "auto") -> MaskedLM:
    """The masked language model of a folder or hub id."""
    model, tokenizer = open_pair("AutoModelForMaskedLM", name)
    return MaskedLM(model, tokenizer, device=device, name=str(name))


def fit_masked_lm(
    texts: Sequence[str],
    *,
    encoder: str | Path | None = None,
    device: str = "auto",
    progress: OnStep | None = None,
    **settings: Any,
) -> MaskedLM:
    """The masked language model of these texts: from the cache, else fitted now (minutes) and cached.

    ``encoder`` is the folder of a BERT encoder, the asset minilm if not named; ``settings`` are those of
    :class:`~unfooled.lexicon.masked_lm_fit.FitSettings` (``epochs=2, seed=1``). The cached folder is an
    ordinary Hugging Face ``BertForMaskedLM``.
    """
    from unfooled.lexicon.masked_lm_fit import FitSettings, fingerprint, fit

    chosen = build(FitSettings, settings, owner="masked language model")
    base = assets.path("minilm") if encoder is None else Path(encoder)

    def build_in(folder: Path) -> None:
        model, tokenizer = fit(texts, chosen, base, device=device, progress=progress)
        with quiet():
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)

    return load_masked_lm(kept(f"masked-lm-{fingerprint(texts, chosen, base)}", build_in), device=device)


def whole_words(tokenizer: Any) -> dict[int, str]:
    """The pieces that are words by themselves, by id, in any of the three usual vocabularies.

    WordPiece marks the pieces that continue a word (``##ing``); byte-level BPE (``Ġfilm``) and
    SentencePiece (``▁film``) mark those that begin one.
    """
    vocabulary = tokenizer.get_vocab()
    opening = next((mark for mark in "Ġ▁" if sum(piece.startswith(mark) for piece in vocabulary) > 1), "")
    special = set(tokenizer.all_special_ids)
    words = {}
    for piece, id in vocabulary.items():
        if id in special or not piece.startswith(opening):
            continue
        word = piece[len(opening) :]
        if word.isalpha() and (len(word) > 1 or word.lower() in _SHORT_WORDS):
            words[id] = word
    return words


def logits_at(model: Any, inputs: dict[str, Tensor], rows: Tensor, positions: Tensor) -> Tensor:
    """Logits ``(positions, vocabulary)`` at chosen places; the head does not run anywhere else.

    The head of a masked language model looks at one position at a time and costs more than the
    encoder where the vocabulary is large.
    """
    with _only(model.base_model, rows, positions):
        return model(**inputs).logits[0]


@contextmanager
def _only(encoder: Any, rows: Tensor, positions: Tensor) -> Iterator[None]:
    def select(module: Any, arguments: Any, output: Any) -> Any:
        output["last_hidden_state"] = output["last_hidden_state"][rows, positions][None]
        return output

    hook = encoder.register_forward_hook(select)
    try:
        yield
    finally:
        hook.remove()


def _special_ids(tokenizer: Any) -> tuple[list[int], list[int]]:
    """What the tokenizer puts before and after a text."""
    result = tokenizer("a", return_special_tokens_mask=True)
    ids, special = result["input_ids"], result["special_tokens_mask"]
    first = special.index(0) if 0 in special else len(ids)
    last = len(ids) - special[::-1].index(0) if 0 in special else len(ids)
    return ids[:first], ids[last:]


def _check_tokenizer(tokenizer: Any) -> None:
    if tokenizer.mask_token_id is None or tokenizer.pad_token_id is None:
        raise UsageError(
            f"The tokenizer {type(tokenizer).__name__} has no mask or padding token. Name a masked "
            "language model such as a BERT or RoBERTa."
        )
