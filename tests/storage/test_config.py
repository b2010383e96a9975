"""The conditions of a training: what its weights depend on."""

from __future__ import annotations

from unfooled.storage.config import conditions_of, make_config


def test_a_run_from_before_a_setting_existed_has_the_same_conditions() -> None:
    now = make_config({"task": "movie-reviews"})
    saved = {name: value for name, value in now.to_dict().items() if name != "augment"}
    assert conditions_of(saved) == now.conditions()


def test_an_augmentation_is_a_condition_and_a_checkpoint_is_not() -> None:
    plain = make_config({"task": "mnist"}).conditions()
    assert make_config({"task": "mnist", "augment": ["flip"]}).conditions() == plain | {"augment": ["flip"]}
    assert make_config({"task": "mnist", "checkpoint_every": "5min", "data_workers": 2}).conditions() == plain
