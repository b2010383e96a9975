"""The result of one certification: a certificate per input, and what they say together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from unfooled.files import JsonMapping, JsonObject
from unfooled.records.certificate import REFUSED, Certificate
from unfooled.records.results.result import SHOWN_ROWS, Facts, Result, kept_facts, mean_text, share_text


@dataclass(frozen=True, repr=False)
class CertificateReport(Result, Sequence[Certificate]):
    """Certificates in the order of the inputs, and what they say together; iterating gives the former."""

    summary: JsonObject
    certificates: Sequence[Certificate]
    about: JsonObject

    @property
    def notes(self) -> list[str]:
        """What should be known before the numbers are used."""
        return list(self.about["notes"])

    def __len__(self) -> int:
        return len(self.certificates)

    def __iter__(self) -> Iterator[Certificate]:
        return iter(self.certificates)

    @overload
    def __getitem__(self, place: int) -> Certificate: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Certificate]: ...
    def __getitem__(self, place: int | slice) -> Certificate | Sequence[Certificate]:
        return self.certificates[place]

    def to_dict(self) -> JsonObject:
        """What ``certificate.json`` holds; the certificates are in the journal."""
        return {**self.about, "summary": self.summary}

    def headline(self) -> str:
        about = self.about
        given = (
            "" if about["source"] in ("texts", "tensors", "images", "questions") else f" of {about['source']}"
        )
        unfinished = "" if about.get("complete", True) else ", not finished"
        return (
            f"{about['threat']} certificates of {about['classifier']}: "
            f"{self.summary['inputs']:,} input{'' if self.summary['inputs'] == 1 else 's'}{given}{unfinished}"
        )

    def facts(self) -> Facts:
        summary = self.summary
        what = "certified and correct" if summary["labelled"] else "certified"
        radius = mean_text(summary["average_radius"], 3)
        facts = [
            (what, share_text(summary["certified_accuracy"])),
            ("abstained", share_text(summary["abstention"])),
            ("average radius", f"{radius} (unit: {summary['unit']})" if summary["unit"] else radius),
        ]
        if summary.get("f1"):
            facts.insert(1, ("certified F1", mean_text(summary["f1"], 3)))
        if asked := summary.get("asked"):
            facts.append((f"radius of at least {asked['radius']:g}", share_text(asked)))
        if summary["counts"]["refused"]:
            facts.append(("refused", f"{summary['counts']['refused']:,}"))
        facts.append(("draws", mean_text(summary["samples"], 0)))
        return facts + [("note", note) for note in self.notes] + kept_facts(self.about)

    def preview(self) -> Sequence[Mapping[str, str]]:
        """Of given texts; a whole task would only be long."""
        if self.about["source"] not in ("texts", "questions"):
            return []
        return [
            {
                "answer": one.answer_text or one.status,
                "radius": f"{one.radius:.3g} {one.unit}" if one.answer_text else one.message,
                "text": " | ".join(one.texts),
            }
            for one in self.certificates[:SHOWN_ROWS]
        ]

    def rows(self) -> Iterator[JsonMapping]:
        for one in self.certificates:
            yield {
                "row": one.row,
                "status": one.status,
                "text": one.texts[0] if one.texts else None,
                "text_pair": one.texts[1] if len(one.texts) > 1 else None,
                "truth": one.truth,
                "label": one.label,
                "leader": one.leader,
                "correct": one.correct,
                "f1": one.f1,
                "radius": None if one.status == REFUSED else one.radius,
                "unit": one.unit,
                "bound": one.bound,
                "p_top": one.p_top,
                "p_second": one.p_second,
                "samples": one.samples,
                "forwards": one.forwards,
                "words_covered": one.words_covered,
                "antonyms_inside": one.antonyms_inside,
                "sentence": one.sentence,
                "truncated": one.truncated,
                "seconds": one.seconds,
                "message": one.message,
            }
