"""The floor plan as a picture and as a table, both made from the law in ``docs/floor-plan.toml``.

python docs/figures/floor_plan.py writes docs/images/floor-plan.svg and the table in docs/architecture.md.
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

DOCS = Path(__file__).parents[1]
LAW = DOCS / "floor-plan.toml"
PICTURE = DOCS / "images" / "floor-plan.svg"
PAGE = DOCS / "architecture.md"
BEGIN, END = "<!-- floor plan: begin -->", "<!-- floor plan: end -->"
WIDTH, BOX, GAP, FLOOR = 860, (118, 34), 16, 74


def law() -> dict[str, set[str]]:
    """The rooms that each room may use, in the order of the file."""
    rooms = tomllib.loads(LAW.read_text(encoding="utf-8"))
    found: dict[str, set[str]] = {}
    for name, room in rooms.items():
        found[name] = set(found) if room["may_use"] == "all above" else set(room["may_use"])
    return found


def floors(rooms: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each room: one above the highest room that it uses."""
    level: dict[str, int] = {}
    for name, used in rooms.items():
        level[name] = 1 + max((level[other] for other in used), default=-1)
    return level


def direct(rooms: dict[str, set[str]]) -> dict[str, set[str]]:
    """What each room uses, without what it already reaches through another of those rooms."""

    def reached(name: str) -> set[str]:
        return set().union(*({other} | reached(other) for other in rooms[name])) if rooms[name] else set()

    return {
        name: {one for one in used if not any(one in reached(other) for other in used - {one})}
        for name, used in rooms.items()
    }


def picture() -> str:
    """Rooms in boxes, floor upon floor, each joined to the rooms it uses directly."""
    rooms = law()
    level, lines = floors(rooms), direct(rooms)
    top = max(level.values())
    height = (top + 1) * FLOOR + 20
    columns = {name: room["column"] for name, room in tomllib.loads(LAW.read_text(encoding="utf-8")).items()}
    place = {
        name: (20 + columns[name] * (BOX[0] + GAP), 10 + (top - level[name]) * FLOOR + (FLOOR - BOX[1]) / 2)
        for name in rooms
    }
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" '
        'font-family="system-ui, sans-serif" font-size="14" role="img" '
        'aria-label="The rooms of unfooled, each joined to the rooms below that it uses">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for name, used in lines.items():
        for other in sorted(used):
            x1, y1 = place[name][0] + BOX[0] / 2, place[name][1] + BOX[1]
            x2, y2 = place[other][0] + BOX[0] / 2, place[other][1]
            middle = (y1 + y2) / 2
            parts.append(
                f'<path d="M{x1:g} {y1:g} C{x1:g} {middle:g} {x2:g} {middle:g} {x2:g} {y2:g}" fill="none" '
                'stroke="#9aa5b1" stroke-width="1.2"/>'
            )
    for name, (x, y) in place.items():
        parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{BOX[0]}" height="{BOX[1]}" rx="5" '
            'fill="#eef3f8" stroke="#4a6785"/>'
            f'<text x="{x + BOX[0] / 2:g}" y="{y + 22:g}" text-anchor="middle" '
            f'fill="#1f2933">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def table() -> str:
    """The law as a table in Markdown."""
    rows = ["| room | holds | may use |", "| --- | --- | --- |"]
    for name, room in tomllib.loads(LAW.read_text(encoding="utf-8")).items():
        used = room["may_use"]
        told = used if isinstance(used, str) else ", ".join(f"`{other}`" for other in used) or "—"
        rows.append(f"| `{name}/` | {room['holds']} | {told} |")
    return "\n".join(rows)


def page_with_table(page: str) -> str:
    """The page with the table between its markers made anew."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
