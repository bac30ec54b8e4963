"""The options of a command in a file, read with `--config` and written with `--save-config`."""

from __future__ import annotations

import json
import sys
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from captionbias.cli.terminal import plain_errors, say

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GIVEN = ("COMMANDLINE", "DEFAULT_MAP")


def read(context: typer.Context, path: Path | None) -> Path | None:
    """Take the options of a TOML file for those that are not on the command line.

    Raises:
        typer.Exit: the file cannot be read, or has what is no option of the command.
    """
    if path is None or context.resilient_parsing:
        return path
    with plain_errors():
        options = {_key(option): option for option in context.command.params}
        try:
            found = tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(
                f"--config {path} is not TOML ({error}): correct it, or write it with --save-config"
            ) from error
        known = [key for key in options if key not in ("help", "config", "save-config")]
        if unknown := [key for key in found if key not in known]:
            raise ValueError(
                f"--config {path} has {', '.join(unknown)}, which {context.info_name} does not take; choose from "
                f"{', '.join(known)}"
            )
        values = {}
        for key, value in found.items():
            several = options[key].multiple or options[key].nargs == -1
            if isinstance(value, dict) or (isinstance(value, list) and not several):
                raise ValueError(f"--config {path}: {key} must be one value, not {value!r}")
            values[options[key].name] = [value] if several and not isinstance(value, list) else value
        context.default_map = {**(context.default_map or {}), **values}
    return path


def save(context: typer.Context, path: Path) -> None:
    """Write the options that were given, here or in a file, as TOML."""
    from captionbias.io.files import write_text

    lines = [
        f"{_key(option)} = {_toml(context.params[option.name])}"
        for option in context.command.params
        if option.name in context.params
        and option.name not in OPTIONS
        and getattr(context.get_parameter_source(option.name), "name", "") in GIVEN
    ]
    write_text("\n".join([*lines, ""]), path)
    say(f"the options are in {path}")


def _key(option: Any) -> str:
    """The name of an option in a file: without dashes, as on the command line; an argument by its own."""
    named = [text for text in option.opts if text.startswith("--")]
    return str(named[0].removeprefix("--") if named else option.name)


def _toml(value: Any) -> str:
    """A value as TOML, whose strings are those of JSON but for one character.

    >>> _toml(["a", "b"]), _toml(True), _toml(0.5), _toml(Path("a b.csv"))
    ('["a", "b"]', 'true', '0.5', '"a b.csv"')
    """
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    plain = value.value if isinstance(value, Enum) else str(value) if isinstance(value, Path) else value
    return json.dumps(plain, ensure_ascii=False).replace("\x7f", "\\u007f")


OPTIONS: dict[str, tuple[Any, Any]] = {
    "save_config": (
        Annotated[
            Path | None,
            typer.Option(
                help="Write the options of this command to this TOML file, for --config.", rich_help_panel="Result"
            ),
        ],
        None,
    ),
    "config": (
        Annotated[
            Path | None,
            typer.Option(
                help="Options from this TOML file, by their names without dashes; those on the command line win.",
                rich_help_panel="Input files",
                callback=read,
                is_eager=True,
            ),
        ],
        None,
    ),
}
