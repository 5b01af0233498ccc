"""HIT layouts: stored HTML with `${placeholders}` that CreateHIT fills in."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from pairs_to_words.annotation.server.faults import ParameterValidationError, RequestError
from pairs_to_words.annotation.server.ids import new_id
from pairs_to_words.annotation.server.memory import Call
from pairs_to_words.annotation.server.questions import HTML
from pairs_to_words.annotation.server.tables import layouts
from sqlalchemy import Connection, insert, select, update

_PLACEHOLDER = re.compile(r"\$\{([^{}]+)\}")
FRAME_HEIGHT = 450


def save_layout(
    connection: Connection, requester_id: str, name: str, content: str, now: int
) -> str:
    """Store a layout under a name, replacing its content; return its id."""
    mine = (layouts.c.requester_id == requester_id, layouts.c.name == name)
    known: str | None = connection.execute(
        select(layouts.c.layout_id).where(*mine)
    ).scalar_one_or_none()
    if known is not None:
        connection.execute(update(layouts).where(*mine).values(content=content))
        return known
    layout_id = new_id()
    connection.execute(
        insert(layouts).values(
            layout_id=layout_id,
            requester_id=requester_id,
            name=name,
            content=content,
            created_at=now,
        )
    )
    return layout_id


def fill_layout(call: Call) -> str:
    """Return the HTMLQuestion that a HITLayoutId and its parameters make.

    Values are data: they are escaped, so that none can close a tag or the CDATA section.

    Raises:
        ServiceError: Unknown layout, a placeholder without value, a value without placeholder.
    """
    layout_id = call.params["HITLayoutId"]
    query = select(layouts.c.content).where(
        layouts.c.layout_id == layout_id, layouts.c.requester_id == call.requester_id
    )
    content: str | None = call.connection.execute(query).scalar_one_or_none()
    if content is None:
        raise RequestError("HITLayoutDoesNotExist", f"HITLayout {layout_id} does not exist.")
    given = {p["Name"]: p["Value"] for p in call.params.get("HITLayoutParameters", [])}
    wanted = set(_PLACEHOLDER.findall(content))
    if wanted != set(given):
        raise ParameterValidationError(
            f"The HITLayout {layout_id} has the parameters {', '.join(sorted(wanted)) or 'none'}; "
            f"given: {', '.join(sorted(given)) or 'none'}."
        )
    return html_question(_fill(content, given))


def html_question(html: str) -> str:
    """Wrap HTML into an HTMLQuestion."""
    namespace = HTML[1:].partition("}")[0]
    safe = html.replace("]]>", "]]]]><![CDATA[>")
    return (
        f'<HTMLQuestion xmlns="{namespace}"><HTMLContent><![CDATA[{safe}]]></HTMLContent>'
        f"<FrameHeight>{FRAME_HEIGHT}</FrameHeight></HTMLQuestion>"
    )


def _fill(content: str, given: dict[str, Any]) -> str:
    return _PLACEHOLDER.sub(lambda found: escape(given[found[1]]), content)
