"""What a call refuses."""

from collections.abc import Callable
from typing import Any

import pytest


def refuses(pattern: str, call: Callable[..., Any], *arguments: Any, **named: Any) -> None:
    """The call raises a ValueError with a message that has this pattern."""
    __tracebackhide__ = True
    with pytest.raises(ValueError, match=pattern):
        call(*arguments, **named)
