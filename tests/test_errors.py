"""Messages that every view says in words of its own."""

import ast
import pickle
from pathlib import Path
from string import Formatter

import pytest
from typer.main import get_command

import captionbias
from captionbias.app import pieces
from captionbias.cli.main import app
from captionbias.errors import Argument, InputError, message_of, missing, phrase, render, within
from captionbias.report import wording

NODES = [
    node
    for path in sorted(Path(captionbias.__file__).parent.rglob("*.py"))
    if "captionbias.errors import" in (text := path.read_text("utf-8"))
    for node in ast.walk(ast.parse(text))
]
CALLS = [node for node in NODES if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
NAMING = [call for call in CALLS if call.func.id == "phrase"]
TEMPLATES = [
    node.value
    for node in NODES
    if isinstance(node, ast.Assign)
    and getattr(node.targets[0], "id", "") == "template"
    and isinstance(node.value, (ast.Constant, ast.JoinedStr))
]
RAISED = [call for call in CALLS if call.func.id in ("InputError", "missing", "unknown")]
# Of functions that no command calls with them.
IN_PYTHON = {"tokenizer", "unsplit", "predicted_attributes", "training_tasks"}
FAULT = InputError(
    Argument("tasks", row=3, image="{x}"),
    phrase("is less than {seed} and {}:", "{tasks}", seed=1),
    phrase("give {directions}", directions=["a"]),
    "add some",
)


def options(argument):
    return {"tasks": "--tasks", "directions": "--direction a"}.get(argument.name)


def test_python_s_words_are_what_the_error_prints_and_a_view_has_its_own():
    assert str(FAULT) == "tasks[3] (image {x}) is less than seed=1 and {tasks}: give directions=['a'], or add some"
    assert render(FAULT, options) == "--tasks is less than seed=1 and {tasks}: give --direction a, or add some"
    assert render(FAULT, lambda _: None) == "tasks[3] (image {x}) is less than seed=1 and {tasks}: add some"
    assert render(missing("tasks", "is missing:", phrase("give {tasks}")), lambda _: None) == "tasks is missing"


@pytest.mark.parametrize("told", [ValueError("give tasks"), "give tasks", KeyError(1)])
def test_what_has_no_parts_is_said_as_it_is(told):
    assert render(told, options) == str(told)


def test_parts_outlive_what_is_put_around_them_and_a_pickle():
    """Errors come from worker processes, notes from stored results."""
    note = phrase("LIC: {} at {tasks}", FAULT.message)
    for copied in (note, pickle.loads(pickle.dumps(note)), message_of(UserWarning(note))):
        assert (str(copied), render(copied, options)) == (str(note), render(note, options))
    error = pickle.loads(pickle.dumps(within("sat", within("lic", InputError("tasks", "are few", row=2)))))
    assert (str(error), render(error, options)) == ("sat: lic: tasks[2] are few", "sat: lic: --tasks are few")
    assert str(within("sat", ValueError("x"))) == "sat: x"


def flags(command):
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        yield from flags(command.get_command(None, name))
    yield from (option.name for option in command.params)


def test_every_argument_that_is_named_has_an_option_or_words():
    literal = [call.args[0] for call in NAMING if getattr(call.args[0], "id", "") != "template"]
    templates = [ast.literal_eval(text) for text in literal + TEMPLATES]  # so what users named is in none
    named = {name for template in templates for _, name, *_ in Formatter().parse(template) if name}
    assert named - {*flags(get_command(app)), *pieces.WORDS, *wording.WORDS} == IN_PYTHON


def test_every_error_is_of_an_argument_that_some_function_takes():
    taken = {node.arg for node in NODES if isinstance(node, ast.arg)}
    named = {call.args[0].value for call in RAISED if isinstance(call.args[0], ast.Constant)}
    assert len(named) > 30
    assert named <= {*taken, *flags(get_command(app))}


def test_the_page_says_what_users_named_as_it_is():
    told = InputError("attributes", "is <predictions>", phrase("{attribute_lexicon} is 'references'"), row=2)
    assert pieces.in_words(told) == (
        "the labels of image 2 is &lt;predictions&gt;; the words for the attribute is &#x27;references&#x27;"
    )
    assert pieces.alert("task_lexicon").endswith(" task_lexicon</p>")
