"""A result in the `model-index` of a card's front matter, spliced into its text: what others wrote stays as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import yaml

from captionbias.hub.eval_results import dumped
from captionbias.hub.markdown import line_break
from captionbias.text.markdown import one_line

KEY = "model-index"
BYTE_ORDER_MARK = "\ufeff"
_BREAK = r"(?:\r\n|\r|\n)"
_FRONT_MATTER = re.compile(
    rf"\A{BYTE_ORDER_MARK}?\s*---[ \t]*{_BREAK}(?P<content>(?:[\s\S]*?{_BREAK})??)---[ \t]*(?:{_BREAK}|\Z)"
)
_REST_OF_LINE = re.compile(rf"[^\r\n]*{_BREAK}?")


def after_front_matter(card: str) -> int:
    r"""Where the text of a card begins.

    >>> after_front_matter("---\nlicense: mit\n---\n# Card")
    21
    """
    match = _FRONT_MATTER.match(card)
    return match.end() if match else 0


def put_result(card: str, result: Mapping[str, Any], model: str) -> str:
    r"""A card with this result in its front matter, in place of the one whose task has the same name, if there is one.

    Args:
        card: the whole text, with or without front matter.
        result: a result of a model index, as `huggingface_hub.repocard_data.eval_results_to_model_index` makes it, with
            a name for its task. Every text in it stands on one line.
        model: what the model is called if the card has no model index yet.

    Raises:
        ValueError: the front matter is no YAML, or is written in a way that this cannot splice into.

    >>> print(put_result("# Card", {"task": {"type": "image-to-text", "name": "Bias"}, "metrics": []}, "nic"))
    ---
    model-index:
    - name: nic
      results:
      - task:
          type: image-to-text
          name: Bias
        metrics: []
    ---
    # Card
    """
    match = _FRONT_MATTER.match(card)
    newline = line_break(card)
    if match is None:
        mark = BYTE_ORDER_MARK if card.startswith(BYTE_ORDER_MARK) else ""
        return f"{mark}---{newline}{_Splice('', newline).put(result, model)}---{newline}{card[len(mark) :]}"
    start, end = match.span("content")
    return card[:start] + _Splice(card[start:end], newline).put(result, model) + card[end:]


class _Splice:
    """The YAML of one front matter, with the places of its nodes."""

    def __init__(self, content: str, newline: str) -> None:
        self.content, self.newline = content, newline
        self.root = _root(content)
        self.tokens = list(yaml.scan(content, Loader=yaml.SafeLoader))

    def put(self, result: Mapping[str, Any], model: str) -> str:
        name = result["task"]["name"]
        spliced = self._put(result, name, [{"name": one_line(model), "results": [result]}])
        after = None
        with suppress(ValueError):
            after = _root(spliced)
        if _others(after, name) != _others(self.root, name) or len(_ours(after, name)) != 1:
            raise ValueError(
                f"the front matter is written in a way that a result cannot be put into: write its {KEY} as plain "
                "lines of YAML, without anchors"
            )
        return spliced

    def _put(self, result: Mapping[str, Any], name: str, index: list[Any]) -> str:
        if self.root is None:
            return self.content + self._lines({KEY: index}) + self.newline
        key, value = _pair(self.root, KEY)
        if key is None or value is None:
            end = self.root.end_mark.index
            column = self.root.start_mark.column
            return self._replace(end, end, " " * column + self._lines({KEY: index}, column) + self.newline)
        if _is_empty(value):
            return self._fill(key, value, index, in_braces=False)
        ours = _ours(self.root, name)
        if len(ours) > 1:
            raise ValueError(f"the front matter has {len(ours)} results whose task is {name!r}: keep one, or none")
        if ours:
            return self._overwrite(ours[0], result)
        item = value.value[0]
        key, results = _pair(item, "results")
        if key is None or results is None:
            raise ValueError(f"{KEY}[0] of the front matter has no results: add them, or remove {KEY}")
        if _is_empty(results):
            return self._fill(key, results, [result], in_braces=item.flow_style)
        return self._append_to(results, result)

    def _lines(self, content: Any, column: int = 0) -> str:
        """Block YAML from this column on; its first line is not indented, its last not ended."""
        return f"{self.newline}{' ' * column}".join(dumped(content).rstrip("\n").split("\n"))

    def _replace(self, start: int, end: int, text: str) -> str:
        return self.content[:start] + text + self.content[end:]

    def _fill(self, key: yaml.Node, value: yaml.Node, items: list[Any], in_braces: bool) -> str:
        """Put a list where there is an empty one or nothing."""
        start, end = value.start_mark.index, value.end_mark.index
        if in_braces:
            return self._replace(start, end, " " + _braces(items))
        column = key.start_mark.column
        return self._replace(start, end, self.newline + " " * column + self._lines(items, column))

    def _overwrite(self, node: yaml.Node, result: Mapping[str, Any]) -> str:
        start, end = node.start_mark.index, self._end(node)
        if node.flow_style:
            return self._replace(start, end, _braces(result))
        while self.content[end - 1] in "\r\n":
            end -= 1
        return self._replace(start, end, self._lines(result, node.start_mark.column))

    def _append_to(self, results: yaml.Node, result: Mapping[str, Any]) -> str:
        inside = [token for token in self.tokens if _is_in(token, results)]
        if results.flow_style:
            last = inside[-2]  # before the bracket
            comma = "" if isinstance(last, yaml.FlowEntryToken) else ","
            return self._replace(last.end_mark.index, last.end_mark.index, f"{comma} {_braces(result)}")
        dash = next(token for token in inside if isinstance(token, yaml.BlockEntryToken))
        column = dash.start_mark.column
        end = self._end(results)
        if self.content[end - 1] not in "\r\n":  # a comment may follow in that line
            rest = _REST_OF_LINE.match(self.content, end)
            end = rest.end() if rest else end
        return self._replace(end, end, " " * column + self._lines([result], column) + self.newline)

    def _end(self, node: yaml.Node) -> int:
        """Where the last of its tokens ends. A block node itself ends after the empty lines and comments behind it."""
        return max(int(token.end_mark.index) for token in self.tokens if _is_in(token, node))


def _root(content: str) -> yaml.Node | None:
    try:
        root = yaml.compose(content, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(f"the front matter is no YAML ({one_line(str(error))}): correct it first") from error
    if root is None:
        return None
    if not isinstance(root, yaml.MappingNode) or root.flow_style:
        raise ValueError("the front matter is no list of keys and values, one a line: write it so first")
    if sum(key.value == KEY for key, _ in root.value) > 1:
        raise ValueError(f"the front matter has {KEY} twice: keep one")
    index = _pair(root, KEY)[1]
    if index is not None and not _is_empty(index):
        wrong = not isinstance(index, yaml.SequenceNode) or any(
            not isinstance(item, yaml.MappingNode) or not _is_list(_pair(item, "results")[1]) for item in index.value
        )
        if wrong:
            raise ValueError(f"{KEY} of the front matter is no list of models with results: correct it, or remove it")
    return root


def _is_list(node: yaml.Node | None) -> bool:
    return node is None or _is_empty(node) or isinstance(node, yaml.SequenceNode)


def _is_empty(node: yaml.Node) -> bool:
    """An empty list, or nothing."""
    return not node.value if isinstance(node, yaml.SequenceNode) else node.tag == "tag:yaml.org,2002:null"


def _pair(node: yaml.Node, name: str) -> tuple[yaml.Node | None, yaml.Node | None]:
    """The key of that name and its value."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next(((key, value) for key, value in pairs if key.value == name), (None, None))


def _all_results(root: yaml.Node | None) -> list[yaml.Node]:
    index = _pair(root, KEY)[1]
    items = index.value if isinstance(index, yaml.SequenceNode) else []
    lists = [_pair(item, "results")[1] for item in items]
    return [result for results in lists if isinstance(results, yaml.SequenceNode) for result in results.value]


def _ours(root: yaml.Node | None, name: str) -> list[yaml.Node]:
    return [result for result in _all_results(root) if _has_task(result, name)]


def _has_task(result: yaml.Node, name: str) -> bool:
    task = _pair(_pair(result, "task")[1], "name")[1]
    return task is not None and task.value == name


def _others(root: yaml.Node | None, name: str) -> list[str]:
    """What others wrote: every other key with its value, and every other result."""
    pairs = [pair for pair in root.value if pair[0].value != KEY] if root else []
    results = [result for result in _all_results(root) if not _has_task(result, name)]
    return [_plain(node) for node in [*(node for pair in pairs for node in pair), *results]]


def _plain(node: yaml.Node) -> str:
    return str(yaml.serialize(node, Dumper=yaml.SafeDumper))


def _is_in(token: yaml.Token, node: yaml.Node) -> bool:
    return bool(node.start_mark.index <= token.start_mark.index < node.end_mark.index)


def _braces(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False)
