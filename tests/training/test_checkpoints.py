"""Checkpoints are whole or absent, and a training goes on from the newest usable one."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from unfooled.errors import UserError
from unfooled.training.checkpoints import LIST, keep_only, last_checkpoint, writing

FILES = {"model.safetensors": b"weights", "optimizer.pt": b"moments", "trainer_state.json": b"{}"}


def write(folder: Path, step: int, *needs: int, processes: int = 1) -> Path:
    """A checkpoint with files of its names."""
    names = ["rng_state.pth"] if processes == 1 else [f"rng_state_{rank}.pth" for rank in range(processes)]
    with writing(folder, step, needs) as beside:
        for name in (*FILES, *names):
            (beside / name).write_bytes(FILES.get(name, b"random"))
    return folder / f"checkpoint-{step}"


def test_newest_is_the_one_with_the_largest_step_not_the_last_name(tmp_path: Path) -> None:
    made = [write(tmp_path, step) for step in (100, 9, 20)]
    assert last_checkpoint(tmp_path) == made[0]


def test_folder_without_checkpoints_gives_none(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None
    assert last_checkpoint(tmp_path / "not there") is None


@pytest.mark.parametrize("name", [*FILES, "rng_state.pth", LIST])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut short", "one byte changed"])
def test_a_damaged_checkpoint_is_passed_over_and_named(tmp_path: Path, name: str, damage: str) -> None:
    whole, file = write(tmp_path, 1), write(tmp_path, 2) / name
    content = file.read_bytes()
    if damage == "missing":
        file.unlink()
    else:
        kept = {"empty": b"", "cut short": content[:-1], "one byte changed": bytes([content[0] ^ 1])}
        file.write_bytes(kept[damage] + (content[1:] if damage == "one byte changed" else b""))
    said: list[str] = []
    if damage == "cut short" and name == LIST:
        return  # only the newline at its end
    assert last_checkpoint(tmp_path, tell=said.append) == whole
    assert len(said) == 1 and "checkpoint-2 is passed over" in said[0] and name in said[0]


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"files": 3, "needs": []}', '{"files": {}, "needs": ["x"]}', "["]
)
def test_a_list_of_another_form_is_damage(tmp_path: Path, text: str) -> None:
    (write(tmp_path, 2) / LIST).write_text(text)
    assert last_checkpoint(tmp_path) is None


def test_a_checkpoint_is_used_only_with_those_that_it_needs(tmp_path: Path) -> None:
    first, second, third = write(tmp_path, 1), write(tmp_path, 2), write(tmp_path, 3, 2)
    assert last_checkpoint(tmp_path) == third
    (second / "optimizer.pt").write_bytes(b"")
    assert last_checkpoint(tmp_path) == first


def test_every_process_must_have_written_its_random_state(tmp_path: Path) -> None:
    two = write(tmp_path, 1, processes=2)
    (write(tmp_path, 2, processes=2) / "rng_state_1.pth").unlink()
    write(tmp_path, 3, processes=1)
    assert last_checkpoint(tmp_path, processes=2) == two


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "Make room on the disk"),
        (
            RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 704 vs 662"),
            "unexpected pos",
        ),
        (PermissionError(errno.EACCES, "Permission denied"), "Allow writing"),
    ],
)
def test_a_checkpoint_that_cannot_be_written_leaves_those_before_it(
    tmp_path: Path, error: Exception, told: str
) -> None:
    def fail() -> None:
        with writing(tmp_path, 2) as beside:
            (beside / "model.safetensors").write_bytes(b"half")
            raise error

    before = write(tmp_path, 1)
    with pytest.raises(UserError, match=f"step 2 was not written.*{told}.*run the same command again"):
        fail()
    assert list(tmp_path.iterdir()) == [before]
    assert last_checkpoint(tmp_path) == before


def test_an_error_of_ours_is_not_mistaken_for_a_full_disk(tmp_path: Path) -> None:
    with pytest.raises(KeyError), writing(tmp_path, 1):
        raise KeyError("state")
    assert not list(tmp_path.iterdir())


def test_what_killed_processes_left_is_no_checkpoint_and_goes_with_the_next_one(tmp_path: Path) -> None:
    (tmp_path / ".writing-3").mkdir()
    (tmp_path / ".removed-checkpoint-1").mkdir()
    (tmp_path / "checkpoint-notes").mkdir()
    kept = [write(tmp_path, 1), write(tmp_path, 2)]
    write(tmp_path, 3)
    keep_only(tmp_path, {1, 2})
    assert sorted(tmp_path.iterdir()) == [*kept, tmp_path / "checkpoint-notes"]


def test_the_list_names_every_file(tmp_path: Path) -> None:
    listed = json.loads((write(tmp_path, 5, 2, 3) / LIST).read_text())
    assert set(listed["files"]) == {*FILES, "rng_state.pth"}
    assert (listed["step"], listed["needs"]) == (5, [2, 3])
