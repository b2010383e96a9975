"""The tables of the documentation that say what the code says: defences, recipes, settings, plans, presets.

python docs/tables.py (``make docs-tables``) writes each between its markers, ``<!-- table: NAME -->`` and
``<!-- end of table -->``. A test checks that the pages are up to date.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Any

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS))
import command_pages  # noqa: E402

if TYPE_CHECKING:
    from unfooled.certificates.threats import Threat

END = "<!-- end of table -->"
_TABLE = re.compile(r"<!-- table: (?P<name>[\w .+-]+) -->\n.*?" + re.escape(END), re.DOTALL)


def written(page: str) -> str:
    """The text of a page with every table as the code has it now."""
    return _TABLE.sub(lambda found: f"<!-- table: {found['name']} -->\n{table(found['name'])}{END}", page)


def table(name: str) -> str:
    """One table: ``defences``, ``defence rsmi``, ``settings train``, ``plan attack``, …"""
    kind, _, what = name.partition(" ")
    makers: dict[str, Callable[[str], str]] = {
        "defences": lambda _: _defences(),
        "defence": lambda one: _settings(_registered("defences", one)),
        "predictor": lambda one: _settings(_registered("predictors", one)),
        "images": lambda one: _settings(_images(one)),
        "recipes": lambda _: _recipes(),
        "image-recipes": lambda _: _image_recipes(),
        "question-recipes": lambda _: _question_recipes(),
        "recipe-settings": lambda _: _recipe_settings(),
        "threats": lambda _: _threats(),
        "architectures": lambda _: _architectures(),
        "lexicon": lambda one: _settings(_lexicon(one)),
        "commands": lambda _: command_pages.commands(_rows),
        "endpoint": lambda _: _endpoint(),
        "options": lambda one: _settings(_declared(one), option=True),
        "plan": lambda one: _settings(_plan(one), head="key"),
        "presets": lambda _: _presets(),
    }
    if kind not in makers:
        raise SystemExit(f"docs/tables.py knows no table '{name}'. It makes: {', '.join(makers)}.")
    return makers[kind](what)


def _defences() -> str:
    from unfooled.defences import DEFENCES

    return _rows(
        ("defence", "what it does", "predictor", "trains for certificates against"),
        (
            (f"[`{name}`](#{name})", cls.summary, f"`{cls.deployed_as}`", ", ".join(cls.certifies) or "—")
            for name, cls in DEFENCES.items()
        ),
    )


def _recipes() -> str:
    from unfooled.attacks import RECIPES

    return _rows(
        ("recipe", "goal", "needs of the victim", "from"),
        (
            (f"`{name}`", cls.goal, "gradients" if "gradients" in cls.needs else "answers", cls.paper)
            for name, cls in RECIPES.items()
        ),
    )


def _image_recipes() -> str:
    from unfooled.attacks import IMAGE_RECIPES

    both = ("apgd-ce", "apgd-t", "square", "transfer", "worst")
    norms = {"pgd-linf": "ℓ∞", **dict.fromkeys(both, "ℓ∞ or ℓ2")}
    return _rows(
        ("recipe", "distance", "searches", "needs of the victim", "from"),
        (
            (
                f"`{name}`",
                norms.get(name, "ℓ2"),
                "the nearest success" if cls.minimal else "the ball of ε",
                "gradients" if "gradients" in cls.needs else "answers",
                cls.paper,
            )
            for name, cls in IMAGE_RECIPES.items()
        ),
    )


def _question_recipes() -> str:
    from unfooled.attacks import RECIPES
    from unfooled.attacks.registry import recipe_class, recipes_for

    return _rows(
        ("recipe", "changes", "from"),
        (
            (
                f"`{name}`",
                "words of the context" if name in RECIPES else "adds a sentence",
                recipe_class(name).paper,
            )
            for name in recipes_for("question")
        ),
    )


def _recipe_settings() -> str:
    """A section per recipe: what its file says about it, and its settings."""
    from unfooled.attacks.registry import all_recipes
    from unfooled.settings import describe_settings

    parts: list[str] = []
    for name, cls in all_recipes():
        about = [command_pages.plain(inspect.cleandoc(sys.modules[cls.__module__].__doc__ or ""))]
        if any(about[0] in part for part in parts):
            own = ", with these settings:" if describe_settings(cls) else "."
            about = [f"{cls.paper}. As above{own}"]
        parts.append("\n\n".join([f"## {name}", *about, _settings(cls)]))
    return "\n" + "\n".join(parts)


def _architectures() -> str:
    from unfooled.models.images import ARCHITECTURES
    from unfooled.settings import describe_settings

    return _rows(
        ("architecture", "network", "settings"),
        (
            (
                f"`{name}`",
                cls.summary,
                "; ".join(
                    f"`{one.name}={_default(one.default)}`: {one.help}" for one in describe_settings(cls)
                ),
            )
            for name, cls in ARCHITECTURES.items()
        ),
    )


def _lexicon(name: str) -> type[Any]:
    from unfooled.lexicon import counterfit, masked_lm_fit

    return {"counter-fitting": counterfit.CounterFitting, "masked-lm": masked_lm_fit.FitSettings}[name]


def _threats() -> str:
    from unfooled.certificates.threats import OF_NUMBERS, TEXT

    def row(name: str, to: str, threat: Threat) -> Sequence[str]:
        return (
            f"`{name}`",
            to,
            threat.changes.format(r="R", s="s", thing=to),
            threat.not_covered.removeprefix("Not covered: "),
        )

    return _rows(
        ("threat", "to", "the answer stays for", "not covered"),
        [row(name, "text", threat) for name, threat in TEXT.items()]
        + [row(name, "image", threat) for name, threat in OF_NUMBERS["image"].items()],
    )


def _endpoint() -> str:
    from unfooled.attacks.victims.http import HttpSettings

    return _settings(HttpSettings)


def _presets() -> str:
    from unfooled.benchmarks.plan_file import presets

    return _rows(("preset", "what it compares"), ((f"`{name}`", about) for name, about in presets().items()))


def _settings(declaration: type[Any], *, option: bool = False, head: str = "setting") -> str:
    from unfooled.settings import describe_settings

    described = describe_settings(declaration)
    if not described:
        return "It has no settings.\n"
    return _rows(
        ("option" if option else head, "default", "range", "meaning"),
        (
            (
                f"`--{info.name.replace('_', '-')}`" if option else f"`{info.name}`",
                _default(info.default),
                _range(info.at_least, info.at_most),
                info.help,
            )
            for info in described
            if info.help and not (option and isinstance(info.default, dict))
        ),
    )


def _default(value: Any) -> str:
    if value is MISSING:
        return "must be given"
    if value in (None, "", (), {}):
        return "—"
    if isinstance(value, tuple):
        return f"[{', '.join(map(str, value))}]"
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if _number(value) else str(value)


def _range(at_least: float | None, at_most: float | None) -> str:
    from unfooled.settings import number_text

    if at_least is not None and at_most is not None:
        return f"{number_text(at_least)} to {number_text(at_most)}"
    if at_least is not None:
        return f"≥ {number_text(at_least)}"
    return "" if at_most is None else f"≤ {number_text(at_most)}"


def _number(value: Any) -> bool:
    return isinstance(value, int | float)


def _registered(kind: str, name: str) -> type[Any]:
    from unfooled.defences import DEFENCES
    from unfooled.predictors import PREDICTORS

    found: type[Any] = {"defences": DEFENCES, "predictors": PREDICTORS}[kind].choose(name)
    return found


def _images(name: str) -> type[Any]:
    from unfooled.data.images.image_sources import FILES, WRAPPERS

    return {**FILES, **WRAPPERS}[name]


def _declared(name: str) -> type[Any]:
    from unfooled.attacks import Limits
    from unfooled.attacks.tools import Tools
    from unfooled.certificates.sampling import Reading, Sampling
    from unfooled.data.inputs import Inputs
    from unfooled.storage.config import TrainConfig

    known = (TrainConfig, Inputs, Limits, Tools, Sampling, Reading)
    return {cls.__name__: cls for cls in known}[name]


def _plan(name: str) -> type[Any]:
    from unfooled.benchmarks import plan

    found: type[Any] = getattr(plan, name)
    return found


def _rows(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def pages() -> list[Path]:
    """The pages that have tables."""
    return [page for page in sorted(DOCS.rglob("*.md")) if _TABLE.search(page.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    for page in pages():
        before = page.read_text(encoding="utf-8")
        after = written(before)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(f"{page.name} is written anew")
