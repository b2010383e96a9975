"""Which checkpoint a killed training goes on from."""

from __future__ import annotations

from pathlib import Path

import pytest

from unfooled.training.checkpoints import last_checkpoint


def write(folder: Path, step: int, *, state: str = "{}", processes: int = 1) -> Path:
    """A complete checkpoint, apart from the weights, which nobody looks at here."""
    made = folder / f"checkpoint-{step}"
    made.mkdir(parents=True)
    names = ["rng_state.pth"] if processes == 1 else [f"rng_state_{rank}.pth" for rank in range(processes)]
    for name in names:
        (made / name).write_bytes(b"")
    (made / "trainer_state.json").write_text(state)
    return made


def test_newest_is_the_one_with_the_largest_step_not_the_last_name(tmp_path: Path) -> None:
    made = [write(tmp_path, step) for step in (100, 9, 20)]
    assert last_checkpoint(tmp_path) == str(made[0])


def test_folder_without_checkpoints_gives_none(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None
    assert last_checkpoint(tmp_path / "not there") is None


@pytest.mark.parametrize("state", ["", '{"global_step": 2', "\x00\x00"])
def test_checkpoint_whose_state_was_being_written_is_passed_over(tmp_path: Path, state: str) -> None:
    whole = write(tmp_path, 1)
    write(tmp_path, 2, state=state)
    assert last_checkpoint(tmp_path) == str(whole)


@pytest.mark.parametrize("missing", ["trainer_state.json", "rng_state.pth"])
def test_checkpoint_without_one_of_its_files_is_passed_over(tmp_path: Path, missing: str) -> None:
    whole = write(tmp_path, 1)
    (write(tmp_path, 2) / missing).unlink()
    assert last_checkpoint(tmp_path) == str(whole)


def test_every_process_must_have_written_its_random_state(tmp_path: Path) -> None:
    two = write(tmp_path, 1, processes=2)
    (write(tmp_path, 2, processes=2) / "rng_state_1.pth").unlink()
    write(tmp_path, 3, processes=1)
    assert last_checkpoint(tmp_path, processes=2) == str(two)
