"""What every kind of model promises for any input: the rows of a batch do not influence each other."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from model_kinds import KINDS, Kind
from unfooled.models import KeyedNoise, Noise, Unreadable, input_key

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
few = settings(max_examples=15)
NOISE = Noise(0.5, ("embeddings",))
ROUNDING = {"rtol": 1e-3, "atol": 1e-3}
"""What the order of additions may change: attention that is not scaled (T5) was seen at 3e-4."""


def drawn(kind: Kind, data: st.DataObject) -> list[Any]:
    """One or more inputs that the model reads."""
    encoded = kind.read(data.draw(kind.inputs, label="inputs"))
    assume(encoded)
    return encoded


def noisy(kind: Kind, encoded: list[Any], seed: int) -> torch.Tensor:
    """Logits under noise that belongs to the seed and the input."""
    model = kind.model()
    sampler = KeyedNoise(NOISE, [input_key(seed, item.key()) for item in encoded])
    return model.forward(model.batch(encoded), sampler=sampler, sites=NOISE.sites).logits


@every_kind
@few
@given(data=st.data())
@torch.no_grad()
def test_a_row_does_not_depend_on_its_batch_its_place_or_its_padding(kind: Kind, data: st.DataObject) -> None:
    model, encoded = kind.model(), drawn(kind, data)
    order = data.draw(st.permutations(range(len(encoded))), label="order")
    together = model.forward(model.batch(encoded)).logits
    assert together.shape == (len(encoded), model.num_labels)
    alone = torch.cat([model.forward(model.batch([item])).logits for item in encoded])
    shuffled = model.forward(model.batch([encoded[place] for place in order])).logits
    torch.testing.assert_close(alone, together, **ROUNDING)
    torch.testing.assert_close(shuffled, together[order], **ROUNDING)


@every_kind
@few
@given(data=st.data())
@torch.no_grad()
def test_keyed_noise_belongs_to_the_seed_and_the_input_alone(kind: Kind, data: st.DataObject) -> None:
    encoded, seed = drawn(kind, data), data.draw(st.integers(0, 2**31), label="seed")
    together = noisy(kind, encoded, seed)
    alone = torch.cat([noisy(kind, [item], seed) for item in encoded])
    torch.testing.assert_close(alone, together, **ROUNDING)
    assert not torch.allclose(noisy(kind, encoded, seed + 1), together, atol=1e-4), "the noise is felt"


@every_kind
@few
@given(data=st.data())
@torch.no_grad()
def test_start_and_copies_stand_in_for_the_batch_itself(kind: Kind, data: st.DataObject) -> None:
    model, encoded = kind.model(), drawn(kind, data)
    batch = model.batch(encoded)
    copies = data.draw(st.lists(st.integers(0, len(encoded) - 1), min_size=1, max_size=6), label="copies")
    expected = model.forward(batch).logits
    from_start = model.forward(batch, start=model.start(batch)).logits
    copied = model.forward(batch, copies=copies).logits
    rows = model.forward(batch.rows(torch.tensor(copies))).logits
    torch.testing.assert_close(from_start, expected, **ROUNDING)
    torch.testing.assert_close(copied, expected[copies], **ROUNDING)
    torch.testing.assert_close(rows, expected[copies], **ROUNDING)


@every_kind
@few
@given(data=st.data())
def test_gradient_of_a_row_is_its_own_and_ends_where_the_input_ends(kind: Kind, data: st.DataObject) -> None:
    model, encoded = kind.model(), drawn(kind, data)
    batch = model.batch(encoded)
    gradient, probabilities = model.gradient(batch)
    assert gradient.shape == model.start(batch).shape
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(len(encoded)))
    for row, item in enumerate(encoded):
        alone, own = model.gradient(model.batch([item]))
        torch.testing.assert_close(own[0], probabilities[row], **ROUNDING)
        read = alone.shape[1]
        torch.testing.assert_close(gradient[row, :read], alone[0], rtol=2e-3, atol=5e-4)
        assert not gradient[row, read:].any(), "padding has no gradient"
        assert alone[0].numel() == model.coordinates(item)


@every_kind
@few
@given(data=st.data())
def test_every_input_is_read_or_refused_with_a_reason(kind: Kind, data: st.DataObject) -> None:
    model, inputs = kind.model(), data.draw(kind.inputs, label="inputs")
    first, again = model.read(inputs), model.read(inputs)
    assert len(first) == len(inputs)
    for one, same in zip(first, again, strict=True):
        assert type(one) is type(same) and isinstance(one.show(), str)
        if isinstance(one, Unreadable):
            assert one.reason
        else:
            assert len(one) > 0 and one.key() == same.key()


def test_refused_inputs_exist() -> None:
    text, tensor = KINDS["text (bert)"], KINDS["tensor"]
    assert len(text.read(["", " \n", "\x00", "film"])) == 1
    assert len(tensor.read(torch.full((2, 3, 4), torch.nan))) == 0
