"""What the four questions say of captioners, in sentences: of each, and of all together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from captionbias.bench.catalogue import SCORES
from captionbias.bench.measurement import Result
from captionbias.bench.verdicts import CANNOT_TELL, LIKE, MORE, NOTHING_FOUND, is_mute
from captionbias.metrics.sway.naming import LEAST_NAMED
from captionbias.report.matrix import Matrix, is_closed, matrix_of
from captionbias.report.wording import GROUPS, fixed, group, listed, named_things, telling_words, whose_gap
from captionbias.statistics.samples import Estimate

if TYPE_CHECKING:
    from captionbias.analysis.audit import Audit

# What each question is about, and what captioners do that are more than people.
ABOUT = {
    "sway_wrong_gap": ("who is named wrong", "name one {value} wrong more often"),
    "sway_unnamed_gap": ("who is left unnamed", "leave one {value} out more often"),
    "sway_t_to_a": ("whether wrong names follow the {tasks}", "name the {value} that the {tasks} suggest"),
    "sway_t_to_a_lost": (
        "whether wrong or missing names follow the {tasks}",
        "get the {value} wrong or leave it out where the {tasks} suggest {other}",
    ),
    "sway_words": ("its other words", "use other words that follow the {value}"),
    "sway_a_to_t": ("whether the {tasks} named follow the {value}", "name {tasks} that follow the {value}"),
}


def headline(audit: Audit, matrix: Matrix) -> str:
    """The answers in a sentence: of one captioner what it does, of several how many do it, and which most."""
    words, said = named_things(audit), audit.verdicts
    if not said:
        return "There is no verdict: that takes human captions of the same images to compare with."
    if len(audit.captioners) == 1 and "sway" in audit.comparisons:
        return sentence_of(audit, audit.captioners[0])
    does: dict[str, list[str]] = {}
    for key in ABOUT if "sway" in audit.comparisons else [asked.score.key for asked in matrix.questions]:
        names = [name for name in matrix.rows if said.get((name, key)) == MORE]
        if not names or (key.endswith("_lost") and all(said.get((name, "sway_t_to_a")) == MORE for name in names)):
            continue
        sizes = {name: abs(audit.measurement(SCORES[key].metric, name).estimates[key].value) for name in names}
        _, what = ABOUT.get(key, ("", f"show that {SCORES[key].claim}"))
        verb, rest = what.format(**words).split(" ", 1)
        most = f" ({max(sizes, key=lambda name: sizes[name])} most)" if len(names) > 1 else ""
        does.setdefault(_how_many(names, len(matrix.rows)), []).append(f"{verb}{'s' * (len(names) == 1)} {rest}{most}")
    if not does:
        return "Nothing was found that is more than people's; what is like people's, and what cannot be told, is below."
    return f"{'; '.join(f'{who} {listed(what)}' for who, what in does.items())}, more than in people's captions."


def _how_many(names: Sequence[str], captioners: int) -> str:
    if len(names) == captioners:
        return {1: names[0], 2: "Both captioners"}.get(captioners, f"All {captioners} captioners")
    return listed(names) if len(names) < 3 else f"{len(names)} of {captioners} captioners"


def sentences(audit: Audit) -> list[str]:
    """What each of several captioners does, in the order of the matrix; none without the four questions."""
    if "sway" not in audit.comparisons or len(audit.captioners) == 1:
        return []
    return [sentence_of(audit, name) for name in matrix_of(audit).rows]


def sentence_of(audit: Audit, captioner: str) -> str:
    """What one captioner of an audit does."""
    said = {key: word for (name, key), word in audit.verdicts.items() if name == captioner}
    return sentence(captioner, audit.measurement("sway", captioner).flat(), said, named_things(audit))


def sentence(captioner: str, sway: Result, said: Mapping[str, str], words: Mapping[str, str]) -> str:
    """What a captioner does more than people; then what is like people's, and what cannot be told.

    `sway`: what was measured, with details. `said`: the verdict by key. `words`: see
    `captionbias.report.wording.words_of`.
    """
    estimates, details = sway.estimates, sway["details"]
    more = {key for key, word in said.items() if word == MORE}
    said_words = _uses_words(sway, words) if "sway_words" in more else ""
    does = [_names_little(estimates, details, words), _names_wrong(details, more, words)]
    does += [_leaves_out(details, words) if "sway_unnamed_gap" in more else ""]
    told = "; ".join(filter(None, does))
    if told:
        first = f"{captioner} {told}; of its other words {said_words}." if said_words else f"{captioner} {told}."
    elif said_words:
        first = f"Of {captioner}'s other words {said_words}."
    else:
        first = f"Of {captioner} nothing was found that is more than people's."
    seen = estimates["sway_words"].detectable if said.get("sway_words") == NOTHING_FOUND else None
    if seen is not None:
        value = words["value"]
        first += f" No word was found to follow the {value}; one in {fixed(seen, 0)} of 100 captions would have been."
    asked = {key: about.format(**words) for key, (about, _) in ABOUT.items() if is_closed(estimates, key)}
    rest = {word: [about for key, about in asked.items() if said.get(key) == word] for word in (LIKE, CANNOT_TELL)}
    if (perhaps := telling_words(details)) and "sway_words" not in more:
        rest[CANNOT_TELL] = [about for about in rest[CANNOT_TELL] if about != asked["sway_words"]]
        rest[CANNOT_TELL].append(f"{asked['sway_words']}, of which {perhaps} may follow the {words['value']}")
    parts = (f"{word[0].upper()}{word[1:]}: {', '.join(abouts)}." for word, abouts in rest.items() if abouts)
    return " ".join([first, *parts])


def _names_little(estimates: Mapping[str, Estimate], details: Mapping[str, Any], words: Mapping[str, str]) -> str:
    if not is_mute(estimates, "sway_wrong_gap"):
        return ""
    most_named = 100 - min((row["unnamed"] for row in details.get("level", ())), default=0.0)
    what = f"hardly names more than one {words['value']}"
    if most_named < LEAST_NAMED:
        what = f"hardly names any {words['value']}"
    elif len(details.get("level", ())) > 2:
        what = f"hardly ever names one of the values of {words['value']}"
    return f"{what}, so nothing that it does is called like people"


def _names_wrong(details: Mapping[str, Any], more: Collection[str], words: Mapping[str, str]) -> str:
    """Who is named wrong more often, and beside what."""
    level, whose = {row["attribute"]: row for row in details.get("level", ())}, whose_gap(details, "wrong")
    beside = _beside(details, words) if "sway_t_to_a" in more else ""
    if "sway_t_to_a_lost" in more and not beside:
        lost = f"leaves the {words['value']} out or gets it wrong more often {_beside(details, words)}"
        return "; ".join(filter(None, (_names_wrong(details, {*more} - {"sway_t_to_a_lost"}, words), lost)))
    if "sway_wrong_gap" not in more or whose is None:
        return f"names the {words['value']} wrong more often {beside}" if beside else ""
    value, oftener = whose
    others = [other for other in level if other != value]
    shares = _shares(level, "wrong", [value, *others] if len(others) == 1 else [value])
    follows = f", more so {beside}" if beside else ""
    if len(others) > 1:
        return f"names {group(value)} wrong {'more' if oftener else 'less'} often than others ({shares}){follows}"
    one, other = group(value), group(others[0])
    if level[value]["wrong"] < level[others[0]]["wrong"]:  # of all images they are not
        shares = "of people who are as hard to see"
    if {one, other} != {*GROUPS.values()}:  # what it is called instead may be a value that no image has
        return f"names {one} wrong more often than {other} ({shares}){follows}"
    return f"calls {one} {other} more often than {other} {one} ({shares}){follows}"


def _leaves_out(details: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """Whose value is left out more often."""
    whose = whose_gap(details, "unnamed")
    if whose is None:
        return ""
    level = {row["attribute"]: row for row in details["level"]}
    others = [other for other in level if other != whose[0]]
    than, shown = (group(others[0]), [whose[0], *others]) if len(others) == 1 else ("others", [whose[0]])
    oftener = "more" if whose[1] else "less"
    return (
        f"leaves the {words['value']} of {group(whose[0])} out {oftener} often than that of {than} "
        f"({_shares(level, 'unnamed', shown)})"
    )


def _shares(level: Mapping[str, Mapping[str, float]], kind: str, values: Sequence[str]) -> str:
    """How many of 100 captions of each value the captioner and people name so."""
    captioner, people = ([fixed(level[value][key], 0) for value in values] for key in (kind, f"{kind}_person"))
    return f"{listed(captioner)} of 100; people {listed(people)}"


def _beside(details: Mapping[str, Any], words: Mapping[str, str]) -> str:
    """Beside which tasks: those of another value, or of one value by itself those of the other."""
    rows = details.get("t_to_a", ())
    alone = [row["attribute"] for row in rows if row["verdict"] == MORE]
    all_of_them = all(row.get("extra_ci_low", 0.0) > 0 for row in rows)
    if len(rows) == 2 and len(alone) == 1 and not all_of_them:
        (of,) = (row["attribute"] for row in rows if row["attribute"] != alone[0])
        return f"beside {words['tasks']} that go with {group(of)}"
    return f"beside {words['tasks']} that go with {words['other']} {words['value']}"


def _uses_words(sway: Result, words: Mapping[str, str]) -> str:
    """The words that follow each value most."""
    if not (told := telling_words(sway["details"])):
        return ""
    follow = "follow" if sum(row["kind"] == "more" for row in sway["details"]["words"]) > 1 else "follows"
    there = ", though some of these may be there" if sway["sway_words_length"] > 1 else ""
    return f"{told} {follow} the {words['value']} more than people's do{there}"
