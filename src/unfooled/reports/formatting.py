"""Numbers and texts as the report shows them."""

from __future__ import annotations


def percent(share: float) -> str:
    """``83.9 %`` with a space that does not break."""
    return f"{share * 100:.1f}\N{NO-BREAK SPACE}%"


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.0f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def number(value: float) -> str:
    """Three significant digits, whole from 100 on, with thousands marked."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f}" if abs(value) >= 0.001 else f"{value:.1e}"


def joined(names: list[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def visible(text: str) -> str:
    """Characters that HTML has no place for (control characters, lone surrogates) are shown as signs."""
    return text.translate(_VISIBLE)


_VISIBLE = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
_VISIBLE |= {0x7F: 0x2421} | dict.fromkeys((*range(128, 160), *range(55296, 57344)), 65533)
