"""Masked language models: whole words only, any vocabulary, windows, fitting, the cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    DistilBertConfig,
    RobertaConfig,
)

import unfooled.lexicon.masked_lm_fit as fitting
from tiny_models import SIZES, WORDS, bert_tokenizer, roberta_tokenizer, sentences
from unfooled import assets
from unfooled.errors import UsageError, UserError
from unfooled.lexicon.masked_lm import MaskedLM, fit_masked_lm, load_masked_lm, whole_words

QUICK = {"epochs": 2, "batch_tokens": 64, "blocks": 1}
PATTERN = ["the film is good", "the story is dull", "a witty actor", "a cold night"] * 8


def random_lm(config_class: Any, tokenizer: Any, **changes: Any) -> Any:
    torch.manual_seed(0)
    config = config_class(
        vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **{**SIZES, **changes}
    )
    model = AutoModelForMaskedLM.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(0.0, 0.25)
    return model.eval()


@pytest.fixture(scope="module")
def lm() -> MaskedLM:
    tokenizer = bert_tokenizer()
    return MaskedLM(random_lm(BertConfig, tokenizer), tokenizer, device="cpu")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT encoder without a head, as saved by transformers."""
    folder = tmp_path_factory.mktemp("encoder")
    tokenizer = bert_tokenizer()
    torch.manual_seed(0)
    config = BertConfig(vocab_size=len(tokenizer), initializer_range=0.2, **SIZES)
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "network" not in request.keywords:
        monkeypatch.setenv("UNFOOLED_CACHE", str(tmp_path / "cache"))


def test_answers_are_known_whole_words_with_falling_probability(lm: MaskedLM) -> None:
    (answer,) = lm.fill([("a gorgeous , witty film", 2, 10)], count=30)
    words, chances = zip(*answer, strict=True)
    assert len(set(words)) == 30 and set(words) <= set(WORDS)
    assert list(chances) == sorted(chances, reverse=True) and 0 < sum(chances) <= 1


def test_probabilities_are_those_of_the_plain_model(lm: MaskedLM) -> None:
    (answer,) = lm.fill([("the story is dull", 4, 9)], count=5)
    inputs = lm.tokenizer("the [MASK] is dull", return_tensors="pt")
    with torch.no_grad():
        chances = lm.model(**inputs).logits[0, 2].softmax(-1)
    for word, chance in answer:
        assert chance == pytest.approx(float(chances[lm.tokenizer.get_vocab()[word]]), rel=1e-4)
    allowed = {word for word, _ in lm.fill([("the story is dull", 4, 9)], count=10_000)[0]}
    best = max(allowed, key=lambda word: float(chances[lm.tokenizer.get_vocab()[word]]))
    assert answer[0][0] == best


def test_batching_and_order_do_not_change_answers(lm: MaskedLM) -> None:
    items = [(text, 0, len(text.split()[0])) for text in sentences(40, seed=3)]
    together = lm.fill(items, count=3)
    for item, expected in list(zip(items, together, strict=True))[::7]:
        ((first, chance), *_) = lm.fill([item], count=3)[0]
        assert first == expected[0][0] and chance == pytest.approx(expected[0][1], rel=1e-3)


def test_long_text_is_read_in_a_window_around_the_span(lm: MaskedLM) -> None:
    left, right = " ".join(["story"] * 500), " ".join(["ending"] * 500)
    text = f"{left} good {right}"
    ids, position = lm._masked(text, len(left) + 1, len(left) + 5)
    assert len(ids) == lm.max_tokens == 64 and ids[position] == lm.tokenizer.mask_token_id
    assert abs(position - 32) <= 1
    ids, position = lm._masked(text, 0, 5)
    assert len(ids) == 64 and position == 1
    ids, position = lm._masked(text, len(text) - 6, len(text))
    assert len(ids) == 64 and position == 62
    assert len(lm.fill([(text, 0, 5)], count=4)[0]) == 4


def test_text_that_spells_the_mask_token_is_text(lm: MaskedLM) -> None:
    ids, _ = lm._masked("a [MASK] film", 9, 13)
    assert ids.count(lm.tokenizer.mask_token_id) == 1


@pytest.mark.parametrize(("start", "end"), [(0, 0), (-1, 2), (2, 99), (3, 2)])
def test_span_outside_the_text_is_refused(lm: MaskedLM, start: int, end: int) -> None:
    with pytest.raises(UsageError, match="not within"):
        lm.fill([("a fine film", start, end)])


def test_nothing_asked_nothing_answered(lm: MaskedLM) -> None:
    assert lm.fill([]) == []
    with pytest.raises(UsageError, match="count"):
        lm.fill([("a film", 0, 1)], count=0)


@pytest.mark.parametrize(
    ("config_class", "tokenizer"),
    [(RobertaConfig, roberta_tokenizer), (DistilBertConfig, bert_tokenizer)],
)
def test_heads_of_other_families_run_at_the_mask_only(config_class: Any, tokenizer: Any) -> None:
    lm = MaskedLM(random_lm(config_class, tokenizer()), tokenizer(), device="cpu")
    (answer,) = lm.fill([("the story is dull", 4, 9)], count=3)
    ids, position = lm._masked("the story is dull", 4, 9)
    with torch.no_grad():
        chances = lm.model(input_ids=torch.tensor([ids])).logits[0, position].softmax(-1)
    for word, chance in answer:
        assert chance == pytest.approx(float(chances[lm.tokenizer.get_vocab()[word]]), rel=1e-4)


class Vocabulary:
    """Just enough of a tokenizer for :func:`whole_words`."""

    def __init__(self, *pieces: str) -> None:
        self.pieces = pieces
        self.all_special_ids = [0]

    def get_vocab(self) -> dict[str, int]:
        return {piece: id for id, piece in enumerate(self.pieces)}


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (["mask", "film", "##ing", "a", "i", "b", "[unused3]", "n't", "90", "é", "café"], "film a i café"),
        (["<mask>", "Ġfilm", "ing", "Ġa", "Ġb", "ĠI", "Ġ90", "Ġ,", "film"], "film a I"),
        (["<mask>", "▁film", "ing", "▁a", "▁b", "▁", "film"], "film a"),
    ],
)
def test_whole_words_of_the_three_kinds_of_vocabulary(pieces: list[str], words: str) -> None:
    assert list(whole_words(Vocabulary(*pieces)).values()) == words.split()


def test_model_without_safetensors_or_mask_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"nowhere.*safetensors"):
        load_masked_lm(tmp_path / "nowhere")
    tokenizer = bert_tokenizer()
    tokenizer.mask_token = None
    with pytest.raises(UsageError, match="mask"):
        MaskedLM(random_lm(BertConfig, bert_tokenizer()), tokenizer, device="cpu")


@pytest.mark.full
def test_fitting_learns_which_words_fit_where(encoder: Path) -> None:
    lm = fit_masked_lm(
        PATTERN, encoder=encoder, device="cpu", epochs=30, blocks=3, batch_tokens=64, mask_rate=0.3
    )
    questions = [("the film is good", 4, 8), ("a witty actor", 2, 7), ("the story is dull", 0, 3)]
    first = [answer[0][0] for answer in lm.fill(questions, count=5)]
    assert first[0] in {"film", "story"}
    assert first[1] in {"witty", "cold"}
    assert first[2] == "the"


def test_fit_is_cached_as_an_ordinary_folder(encoder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    steps: list[tuple[int, int]] = []
    lm = fit_masked_lm(PATTERN, encoder=encoder, device="cpu", progress=lambda *at: steps.append(at), **QUICK)
    assert steps[-1][0] == steps[-1][1] == len(steps)
    assert capfd.readouterr() == ("", "")
    folder = Path(lm.name)
    assert folder.parent == assets.cache_dir() / "lexicon" and folder.name.startswith("masked-lm-")
    assert [path.name for path in folder.parent.iterdir() if path.suffix != ".lock"] == [folder.name]
    assert isinstance(AutoModelForMaskedLM.from_pretrained(folder), BertForMaskedLM)
    assert AutoTokenizer.from_pretrained(folder).mask_token == "[MASK]"
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["BertForMaskedLM"]
    fit_masked_lm(
        PATTERN, encoder=encoder, device="cpu", progress=lambda *at: pytest.fail("fitted again"), **QUICK
    )


def test_same_seed_same_model_other_seed_other_model(encoder: Path) -> None:
    def weights(seed: int) -> Any:
        settings = fitting.FitSettings(**QUICK, seed=seed)  # type: ignore[arg-type]
        torch.manual_seed(torch.seed() % 1000)  # what ran before must not matter
        return fitting.fit(PATTERN, settings, encoder, device="cpu")[0].state_dict()

    first, again, other = weights(1), weights(1), weights(2)
    name = "cls.predictions.transform.dense.weight"
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not torch.equal(first[name], other[name])


def test_fitting_leaves_the_global_random_state_alone(encoder: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    fitting.fit(PATTERN, fitting.FitSettings(**QUICK), encoder, device="cpu")  # type: ignore[arg-type]
    assert torch.equal(torch.rand(3), expected)


def test_only_the_head_and_the_top_blocks_change(encoder: Path) -> None:
    model = fitting.fit(PATTERN, fitting.FitSettings(**QUICK), encoder, device="cpu")[0]  # type: ignore[arg-type]
    before = BertModel.from_pretrained(encoder).state_dict()
    after = model.bert.state_dict()
    changed = {name for name in after if not torch.equal(before[name], after[name])}
    assert changed and all(name.startswith("encoder.layer.2.") for name in changed)
    assert model.get_output_embeddings().weight is model.get_input_embeddings().weight


def test_fingerprint_changes_with_texts_settings_and_encoder(encoder: Path, tmp_path: Path) -> None:
    settings = fitting.FitSettings()
    keys = [
        fitting.fingerprint(["a", "b"], settings, encoder),
        fitting.fingerprint(["ab"], settings, encoder),
        fitting.fingerprint(["a", "b"], fitting.FitSettings(seed=1), encoder),
        fitting.fingerprint(["a", "b"], settings, tmp_path),
    ]
    assert len(set(keys)) == 4
    assert fitting.fingerprint(["a", "b"], settings, encoder) == keys[0]


def test_failed_fit_leaves_nothing_behind(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*at: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit_masked_lm(PATTERN, encoder=encoder, device="cpu", progress=fail, **QUICK)
    left = [path for path in (assets.cache_dir() / "lexicon").iterdir() if path.suffix != ".lock"]
    assert left == []


@pytest.mark.parametrize("texts", [[], ["", "  "], ["?!", "12 34"]])
def test_texts_without_words_are_refused(encoder: Path, texts: list[str]) -> None:
    with pytest.raises(UsageError, match="no words"):
        fit_masked_lm(texts, encoder=encoder, device="cpu", **QUICK)


def test_unknown_setting_and_range_are_refused_by_name(encoder: Path) -> None:
    with pytest.raises(UsageError, match=r"epoch.*Did you mean 'epochs'"):
        fit_masked_lm(PATTERN, encoder=encoder, epoch=2)
    with pytest.raises(UsageError, match="mask_rate"):
        fit_masked_lm(PATTERN, encoder=encoder, mask_rate=0.0)


def test_pieces_cut_long_texts_and_mask_only_single_piece_words() -> None:
    tokenizer = bert_tokenizer()
    (piece,) = fitting.pieces_of(["the zebra , film"], tokenizer, 64)
    assert tokenizer.convert_ids_to_tokens([piece.ids[position] for position in piece.maskable]) == [
        "the",
        "film",
    ]
    pieces = fitting.pieces_of([" ".join(["film"] * 100)], tokenizer, 32)
    assert [len(piece.ids) for piece in pieces] == [32, 32, 32, 12]
    few = fitting.sample(pieces, fitting.FitSettings(max_tokens=70))
    assert sum(len(piece.ids) for piece in few) <= 70
