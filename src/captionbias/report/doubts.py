"""What most could make a report's answers wrong."""

from __future__ import annotations

from collections.abc import Iterator

from captionbias.analysis.audit import Audit
from captionbias.bench.sentence import listed
from captionbias.metrics.sway.images import NO_LEAN, OWN, SHIPPED
from captionbias.report.wording import SCENES, fixed, named_things, yardstick_of

# What leans were counted on, by what the settings call them; nothing of those that are given.
COUNTED_ON = {OWN: "these images"} | dict.fromkeys((f"{SHIPPED},named", f"{SHIPPED},given"), "COCO's labelled photos")
REPEATED = 30  # percent of a captioner's captions


def doubts(audit: Audit) -> Iterator[str]:
    called = named_things(audit)
    if "sway" in audit.comparisons:
        level = [row for name in audit.captioners for row in audit.details("sway", name).get("level", ())]
        unnamed = [row["unnamed"] for row in level]
        low, high = (fixed(end(unnamed, default=0.0), 0) for end in (min, max))
        share = low if low == high else f"{low} to {high}"
        lean = audit.measurement("sway", audit.captioners[0]).settings["lean"]
        if yardstick_of(audit) is SCENES:
            yield (
                "Only the person differs between the images of a scene, if scenes are as given: look whether place, "
                "light, pose and things are the same, and persons as easy to see."
            )
        elif lean != NO_LEAN:
            yield f"“Beside” is not “because of”: the scene suggests as much as the {called['tasks']} do."
        yield (
            f"Captions that name no {called['value']}, or several, count among the 100, not as wrong: {share} of 100."
        )
        if lean in COUNTED_ON:
            yield f"Which {called['tasks']} go with whom was counted on {COUNTED_ON[lean]}."
    lic = {name: audit.measurement("lic", name) for name in audit.captioners} if "lic" in audit.comparisons else {}
    repeats = {name: measured.facts.get("seen_m", 0.0) for name, measured in lic.items()}
    if often := sorted((name for name in repeats if repeats[name] > REPEATED), key=lambda name: -repeats[name]):
        unseen = lic[often[0]].estimates.get("lic_unseen")
        yield (
            f"{fixed(repeats[often[0]], 0)}% of {often[0]}'s captions repeat ones that the attacker learned from"
            + (f"; without them LIC is {fixed(unseen.value, 1)}" if unseen else "")
            + (f"; many do of {listed(often[1:])} too." if often[1:] else ".")
        )
    if len(audit.verdicts) > 1:
        yield (
            f"{len(audit.verdicts)} verdicts are given at once, so they are stricter: of those that say more or less, "
            "at most one in twenty is expected to be false."
        )
