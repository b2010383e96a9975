"""Plans: what a file means, what is refused and how, variables, presets, scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from unfooled.benchmarks.cell_work import command_of
from unfooled.benchmarks.cells import make_cells
from unfooled.benchmarks.plan import LEAST, scaled
from unfooled.benchmarks.plan_file import make_plan, presets, read_plan
from unfooled.errors import UsageError

BASE: dict[str, Any] = {
    "name": "trial",
    "tasks": ["movie-reviews"],
    "defences": ["standard", {"name": "rsmi", "start_from": "standard"}],
    "attacks": ["textfooler"],
}


def names(plan: Any) -> list[str]:
    return [cell.name for cell in make_cells(plan, Path("out"))]


def test_short_forms_mean_the_defaults() -> None:
    plan = make_plan(BASE)
    assert plan.tasks[0].values == {"task": "movie-reviews"}
    assert [one.defence for one in plan.defences] == ["standard", "rsmi"]
    assert (plan.attacks[0].name, plan.attacks[0].limit) == ("textfooler", 200)
    assert plan.attacks[0].only == ("standard", "rsmi")
    assert plan.seeds == (0,)


def test_settings_of_the_defence_win_over_the_task_and_these_over_the_common_ones() -> None:
    plan = make_plan(
        {
            **BASE,
            "train": {"epochs": 1, "limit": 100, "lr": 1e-3},
            "tasks": [{"name": "imdb", "limit": 50, "max_length": 32}],
            "defences": [
                {"name": "mild", "defence": "rsmi", "train": {"lr": 1e-4}, "settings": {"sigma": 0.1}}
            ],
        }
    )
    config = plan.config(plan.tasks[0], plan.defences[0], 3)
    assert (config.task, config.epochs, config.limit, config.max_length, config.lr, config.seed) == (
        "imdb",
        1.0,
        50,
        32,
        1e-4,
        3,
    )
    assert (config.defence, config.settings) == ("rsmi", {"sigma": 0.1})


def test_plan_written_and_read_again_is_the_same() -> None:
    plan = make_plan(
        {
            **BASE,
            "seeds": [0, 2],
            "defences": [
                {
                    "name": "last",
                    "defence": "rsmi",
                    "start_from": "standard",
                    "settings": {"noise_layers": [0]},
                },
                "standard",
                "random-mask",
            ],
            "attacks": [
                {"recipe": "pwws", "limit": None, "for": "standard", "limits": {"max_changed": 0.2}},
                {"recipe": "pwws", "for": ["last"], "limit": 5},
            ],
            "certificates": [{"threat": "words", "adaptive": True}],
            "repeat": {},
            "representations": {"limit": 3},
            "published": {"source": "somewhere", "figures": [{"task": "imdb", "model": "BERT", "racc": 5.9}]},
        }
    )
    again = make_plan(yaml.safe_load(yaml.safe_dump(plan.to_dict())))
    assert again == plan
    assert [one.name for one in plan.defences] == ["standard", "last", "random-mask"]
    assert plan.certificates[0].only == ("random-mask",)


def test_cells_come_after_those_they_need_and_one_seed_after_the_other() -> None:
    plan = make_plan(
        {
            **BASE,
            "seeds": [1, 0],
            "defences": [{"name": "rsmi", "start_from": "standard"}, "standard"],
            "attacks": ["textfooler", {"recipe": "pwws", "for": ["rsmi"]}],
            "repeat": {"for": ["rsmi"]},
            "representations": {},
        }
    )
    cells = make_cells(plan, Path("out"))
    assert [cell.name for cell in cells[:2]] == ["movie-reviews-standard-s1", "movie-reviews-rsmi-s1"]
    assert [cell.seed for cell in cells] == [1] * 8 + [0] * 8
    places = {cell.name: number for number, cell in enumerate(cells)}
    for cell in cells:
        assert all(places[need] < places[cell.name] for need in cell.needs), cell.name
    (last,) = [cell for cell in cells if cell.name == "movie-reviews-rsmi-s1/representations"]
    assert last.needs[1:] == (
        "movie-reviews-rsmi-s1/attacks/textfooler",
        "movie-reviews-rsmi-s1/attacks/pwws",
    )


def test_key_of_a_cell_follows_its_own_conditions_and_those_of_the_model_behind_it() -> None:
    def keys(plan: dict[str, Any]) -> dict[str, str]:
        return {cell.name: cell.key for cell in make_cells(make_plan(plan), Path("out"))}

    before = keys(BASE)
    moved = {cell.name: cell.key for cell in make_cells(make_plan(BASE), Path("elsewhere"))}
    assert moved == before
    other = keys({**BASE, "attacks": [{"recipe": "textfooler", "limit": 100}]})
    assert {name for name in before if before[name] != other[name]} == {
        "movie-reviews-standard-s0/attacks/textfooler",
        "movie-reviews-rsmi-s0/attacks/textfooler",
    }
    other = keys({**BASE, "defences": [{"name": "standard", "train": {"lr": 1e-3}}, BASE["defences"][1]]})
    assert not {name for name in before if before[name] == other[name]}


def changed(**changes: Any) -> dict[str, Any]:
    return {**BASE, **changes}


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (changed(atacks=[]), r"bad.yaml has no key 'atacks'. Did you mean 'attacks'\?"),
        (changed(name="a/b"), "bad.yaml: name must be a short name"),
        (changed(name=None), "bad.yaml: name"),
        (changed(tasks=[]), "bad.yaml: tasks is missing"),
        (changed(tasks="imdb"), "bad.yaml: tasks must be a list"),
        (changed(tasks=["imbd"]), r"bad.yaml: tasks\[0\]: There is no task 'imbd'. Did you mean"),
        (changed(tasks=[{"name": "imdb", "limt": 3}]), r"tasks\[0\] has no key 'limt'. Did you mean 'limit'"),
        (
            changed(tasks=[{"name": "x", "task": "imdb", "data": "f.csv"}]),
            "bad.yaml: x, standard: .*not both",
        ),
        (changed(tasks=["imdb", "imdb"]), "bad.yaml: tasks: the name 'imdb' is given twice"),
        (changed(train={"lr": "fast"}), "bad.yaml: movie-reviews, standard: .*lr must be a number"),
        (changed(train={"epochs": 0}), "epochs must be at least"),
        (changed(train={"task": "imdb"}), "bad.yaml: train has no key 'task'"),
        (changed(train=["lr"]), "bad.yaml: train must hold names and values"),
        (changed(defences=["rsmii"]), r"bad.yaml: defences\[0\]: There is no defence 'rsmii'. Did you"),
        (changed(defences=[{"defence": "rsmi"}]), r"bad.yaml: defences\[0\]: name is missing"),
        (
            changed(defences=[{"name": "rsmi", "settings": {"sgma": 1}}]),
            "no setting 'sgma'. Did you mean 'sigma'",
        ),
        (changed(defences=[{"name": "rsmi", "settings": {"sigma": -1}}]), "sigma must be at least 0"),
        (
            changed(defences=[{"name": "rsmi", "start_from": "plain"}]),
            "rsmi: start_from: the plan has no defence 'plain'",
        ),
        (changed(defences=[{"name": "rsmi", "start_from": "rsmi"}]), "rsmi starts from itself"),
        (
            changed(
                defences=[
                    {"name": "a", "defence": "rsmi", "start_from": "b"},
                    {"name": "b", "defence": "rsmi", "start_from": "a"},
                ]
            ),
            "a starts from itself .a ← b ← a.",
        ),
        (
            changed(
                defences=["standard", {"name": "rsmi", "start_from": "standard", "train": {"encoder": "x"}}]
            ),
            "start_from or train.encoder, not both",
        ),
        (changed(defences=[{"name": "rsmi", "train": {"limit_test": 5}}]), "train has no key 'limit_test'"),
        (
            changed(attacks=["textfoler"]),
            r"bad.yaml: attacks\[0\]: There is no recipe 'textfoler'. Did you mean",
        ),
        (changed(attacks=[{"limit": 3}]), r"attacks\[0\]: recipe is missing"),
        (changed(attacks=[{"recipe": "pwws", "limit": 0}]), r"attacks\[0\]: limit must be at least 1, got 0"),
        (
            changed(attacks=[{"recipe": "pwws", "limit": "many"}]),
            r"attacks\[0\]: limit must be a whole number",
        ),
        (changed(attacks=[{"recipe": "pwws", "for": ["rmsi"]}]), r"attacks\[0\]: for: .*Did you mean 'rsmi'"),
        (changed(attacks=[{"recipe": "pwws", "settings": {"x": 1}}]), "pwws has no setting 'x'"),
        (
            changed(attacks=[{"recipe": "pwws", "limits": {"query_budget": 0}}]),
            "query_budget must be at least 1",
        ),
        (changed(attacks=[{"recipe": "pwws", "tools": {"similarity": "bert"}}]), "'minilm', 'use'"),
        (
            changed(attacks=["pwws", {"recipe": "pwws", "limit": 5}]),
            "attacks: the name 'pwws' is given twice",
        ),
        (changed(certificates=["l3"]), r"bad.yaml: certificates\[0\]: There is no threat 'l3'"),
        (
            changed(certificates=["words"]),
            "no defence of the plan is trained for the threat words. Add random-mask",
        ),
        (changed(certificates=[{"threat": "words", "for": ["rsmi"], "alpha": 2}]), "alpha must be at most"),
        (changed(repeat={"repeats": 0}), "bad.yaml: repeat: repeats must be at least 1"),
        (changed(repeat={"repeat": 5}), "repeat has no key 'repeat'. Did you mean 'repeats'"),
        (changed(attacks=[], representations={}), "representations compares clean with attacked texts"),
        (changed(seeds=[0, 0]), "bad.yaml: seeds must be different whole numbers"),
        (changed(seeds=["one"]), "bad.yaml: seeds"),
        (changed(seeds=[True]), "bad.yaml: seeds"),
        (changed(published={"figures": []}), "published: source is missing"),
        (
            changed(published={"source": "s", "figures": [{"task": "imdb", "model": "m", "racc": 590}]}),
            r"published: figures\[0\]: racc must be at most 100",
        ),
        (
            changed(
                tasks=[{"name": "a-b", "task": "imdb"}, {"name": "a", "task": "imdb"}],
                defences=[{"name": "c", "defence": "rsmi"}, {"name": "b-c", "defence": "rsmi"}],
            ),
            "called a-b-c-s0",
        ),
    ],
)
def test_bad_plan_is_refused_with_the_file_the_key_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.yaml").write_text(yaml.safe_dump(plan), encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        make_cells(read_plan("bad.yaml"), Path("out"))


@pytest.mark.parametrize(
    ("text", "said"),
    [("- a list", "must hold names and values"), ("{", "not valid YAML"), ("", "tasks is missing")],
)
def test_file_that_is_no_plan_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bad.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=said):
        read_plan(tmp_path / "bad.yaml")
    with pytest.raises(UsageError, match=r"missing\.yaml"):
        read_plan(tmp_path / "missing.yaml")
    with pytest.raises(UsageError, match="is a folder"):
        read_plan(tmp_path)


def test_variables_are_filled_in_and_keep_their_type() -> None:
    plan = {
        **BASE,
        "variables": {"folder": None, "lr": 1.0e-4},
        "tasks": [{"name": "own", "data": "${folder}/train.csv"}],
        "train": {"lr": "${lr}"},
    }
    made = read_plan(plan, variables={"folder": "here"})
    assert made.tasks[0].values["data"] == "here/train.csv"
    assert made.train == {"lr": 1.0e-4}
    assert read_plan(plan, variables={"folder": "here", "lr": 5}).train == {"lr": 5}
    with pytest.raises(UsageError, match="needs a value for folder: give it with --set folder="):
        read_plan(plan)
    with pytest.raises(UsageError, match=r"--set foldr: .* Its variables: folder, lr"):
        read_plan(plan, variables={"foldr": "here"})
    with pytest.raises(UsageError, match=r"\$\{what\} is not declared"):
        read_plan({**BASE, "description": "${what}"})


def test_either_a_plan_or_a_preset_is_named() -> None:
    for arguments in ({}, {"plan": "plan.yaml", "preset": "quick"}):
        with pytest.raises(UsageError, match="Name a plan"):
            read_plan(**arguments)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"no preset 'quik'\. Did you mean 'quick'"):
        read_plan(preset="quik")


@pytest.mark.parametrize("name", list(presets()))
def test_every_preset_is_a_good_plan_that_says_what_it_is(name: str) -> None:
    own = name.rpartition("-")[2]
    variables = {own: "folder"} if own in ("agnews", "mrpc") else {}
    plan = read_plan(preset=name, variables=variables)
    assert plan.name == name
    assert len(plan.description) > 40
    assert make_cells(plan, Path("out"))
    assert make_plan(plan.to_dict()) == plan


@pytest.mark.parametrize("name", ["paper-rsmi", "paper-rsmi-agnews"])
def test_published_figures_agree_with_themselves(name: str) -> None:
    """ASR = 1 − RAcc / SAcc: a figure copied to the wrong place would not fit the others."""
    plan = read_plan(preset=name, variables={"agnews": "x"} if name.endswith("agnews") else {})
    assert plan.published is not None and len(plan.published.figures) == 42
    assert {figure.task for figure in plan.published.figures} == {plan.tasks[0].name}
    for figure in plan.published.figures:
        assert figure.racc is not None and figure.sacc is not None
        assert 100 * (1 - figure.racc / figure.sacc) == pytest.approx(figure.asr, abs=0.5), figure
    (headline,) = [
        figure
        for figure in plan.published.figures
        if figure.model == "BERT-base RSMI" and figure.attack == "textfooler"
    ]
    assert (headline.racc, headline.asr) == ((56.4, 38.83) if name == "paper-rsmi" else (63.2, 31.82))


@pytest.mark.parametrize(
    ("name", "data"), [("paper-bat", ""), ("paper-bat", ", MNLI"), ("paper-bat-mrpc", "")]
)
def test_published_figures_of_bat_have_the_signs_of_the_paper(name: str, data: str) -> None:
    """SAFER lowers synonym and raises antonym success; BAT-Triplet lowers both."""
    plan = read_plan(preset=name, variables={"mrpc": "x"} if name.endswith("mrpc") else {})
    assert plan.published is not None
    asr = {(one.model, one.attack): one.asr or 0.0 for one in plan.published.figures}

    def rises(method: str, attack: str) -> bool:
        return asr[f"BERT-base {method}{data}", attack] > asr[f"BERT-base fine-tuned{data}", attack]

    assert not rises("SAFER", "synonym") and rises("SAFER", "antonym")
    assert not rises("BAT-Triplet", "synonym") and not rises("BAT-Triplet", "antonym")


@pytest.mark.parametrize("name", ["paper-bat", "paper-bat-mrpc"])
def test_the_models_that_bat_is_compared_with_start_from_one_plain_model(name: str) -> None:
    plan = read_plan(preset=name, variables={"mrpc": "x"} if name.endswith("mrpc") else {})
    base, *compared = plan.defences
    assert base.defence == "standard" and base.start_from is None
    assert {one.start_from for one in compared} == {base.name}
    shared = [one for one in plan.attacks if not (one.name or "").endswith("-vote")]  # of SAFER's vote alone
    assert {one.only for one in shared} == {tuple(one.name for one in compared)}
    assert len(shared) == len(plan.attacks) - 2


def test_scale_makes_every_size_smaller_but_never_meaningless() -> None:
    plan = make_plan(
        {
            **BASE,
            "train": {"limit": 8000, "limit_dev": 600, "limit_test": 1000},
            "tasks": ["movie-reviews", {"name": "imdb", "limit": 100}],
            "defences": ["standard", {"name": "random-mask", "train": {"limit": 3000}}],
            "attacks": [{"recipe": "pwws", "limit": 1000}, {"recipe": "bae", "limit": 4}],
            "certificates": [{"threat": "words", "n": 10_000, "limit": 500}],
            "repeat": {"repeats": 1000, "limit": 300},
            "representations": {"limit": 50},
        }
    )
    small = scaled(plan, 0.1)
    limits = {key: small.tasks[0].values[key] for key in ("limit", "limit_dev", "limit_test")}
    assert limits == {"limit": 800, "limit_dev": 60, "limit_test": 100}
    assert small.tasks[1].values["limit"] == 100, "what was below the least stays"
    assert small.defences[1].train["limit"] == LEAST["limit"]
    assert [one.limit for one in small.attacks] == [100, 4]
    assert (small.certificates[0].n, small.certificates[0].n0, small.certificates[0].limit) == (1000, 20, 50)
    assert small.repeat is not None and (small.repeat.repeats, small.repeat.limit) == (100, 30)
    assert small.representations is not None and small.representations.limit == LEAST["inputs"]
    assert small.scale == 0.1 and scaled(small, 0.5).scale == 0.05
    assert scaled(plan, 1) == plan
    again = make_plan(small.to_dict())
    assert again == small


def test_scale_of_data_without_a_limit_is_that_of_its_size(tmp_path: Path) -> None:
    rows = "".join(f"word {number} of the text,{'up' if number % 2 else 'down'}\n" for number in range(6000))
    (tmp_path / "own.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    plan = make_plan(
        {**BASE, "tasks": [{"name": "own", "data": str(tmp_path / "own.csv")}], "attacks": [
            {"recipe": "pwws", "limit": None}]}
    )  # fmt: skip
    small = scaled(plan, 0.2)
    # 6,000 rows: 750 for test, of the others 525 (a tenth) for dev.
    assert small.tasks[0].values["limit"] == round(0.2 * 4725)
    assert small.tasks[0].values["limit_dev"] == 105
    assert small.tasks[0].values["limit_test"] == 150
    assert small.attacks[0].limit == 150


def test_an_attack_may_have_inputs_of_its_own_and_is_left_out_without_a_file() -> None:
    plan: dict[str, Any] = {
        "name": "p",
        "variables": {"file": ""},
        "tasks": ["snli"],
        "defences": ["standard"],
    }
    plan["attacks"] = ["negation", {"recipe": "negation", "name": "other", "inputs": {"data": "${file}"}}]
    assert [one.name for one in read_plan(plan).attacks] == ["negation"]
    own = read_plan(plan, variables={"file": "other.csv"})
    assert [one.inputs for one in own.attacks] == [{}, {"data": "other.csv"}]
    _, first, second = make_cells(own, Path("out"))
    assert "inputs" not in first.conditions and second.conditions["inputs"] == {"data": "other.csv"}
    assert "--data other.csv" in command_of(second) and "--data" not in command_of(first)
    plan["attacks"] = [{"recipe": "negation", "inputs": {"file": "x"}}]
    with pytest.raises(UsageError, match=r"attacks\[0\]: inputs has no setting 'file'"):
        read_plan(plan)


def test_the_infobert_preset_measures_anli_where_its_files_are_named() -> None:
    names = {"textfooler", "negation"}
    assert {one.name for one in read_plan(preset="paper-infobert").attacks} == names
    rounds = {f"anli_r{number}": f"dev_r{number}.jsonl" for number in (1, 2, 3)}
    plan = read_plan(preset="paper-infobert", variables=rounds)
    assert {one.name for one in plan.attacks} == {*names, "anli-r1", "anli-r2", "anli-r3"}
    assert plan.published is not None
    attacks = {one.name for one in plan.attacks} - {"negation"}  # which the paper does not have
    for model in ("RoBERTa-large", "BERT-large"):
        shown = {(f.defence, f.attack) for f in plan.published.figures if f.model.startswith(model)}
        assert shown == {(one.name, attack) for one in plan.defences for attack in attacks}
