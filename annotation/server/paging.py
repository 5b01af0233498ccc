"""Pages of results: a token with every page that is not empty, and an empty page at the end.

Clients of the real service loop until a page is empty and read its token unconditionally, so the
last full page must carry one too.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any

from pairs_to_words.annotation.server.faults import not_valid
from pairs_to_words.annotation.server.memory import Call
from sqlalchemy import ColumnElement, Select

DEFAULT_RESULTS = 10

Row = Mapping[str, Any]


def page(
    call: Call,
    query: Select[Any],
    key: ColumnElement[int],
    result_key: str,
    shape: Callable[[Row], dict[str, Any]],
) -> dict[str, Any]:
    """Run one page of `query` in the order of `key`, a unique ascending number.

    New rows get higher keys, so walking pages sees every row once although rows arrive meanwhile.

    Raises:
        ServiceError: NextToken was not made by this server for this list.
    """
    after = read_token(call.params.get("NextToken"), result_key)
    size = call.params.get("MaxResults", DEFAULT_RESULTS)
    rows = call.connection.execute(query.where(key > after).order_by(key).limit(size)).mappings()
    found = rows.all()
    answer: dict[str, Any] = {
        "NumResults": len(found),
        result_key: [shape(dict(row)) for row in found],
    }
    if found:
        answer["NextToken"] = write_token(found[-1][key.key or ""], result_key)
    return answer


def write_token(after: int, result_key: str) -> str:
    """Return the token for what comes after the row with key `after`."""
    return base64.urlsafe_b64encode(f"{result_key}:{after}".encode()).decode()


def read_token(token: str | None, result_key: str) -> int:
    """Return the key to continue after; -1 for the first page."""
    if token is None:
        return -1
    try:
        name, _, after = base64.urlsafe_b64decode(token.encode()).decode().partition(":")
        if name == result_key:
            return int(after)
    except (binascii.Error, ValueError):
        pass
    raise not_valid(token, "NextToken")
