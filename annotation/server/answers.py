"""Turn posted form fields into QuestionFormAnswers XML, as the real service did."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.sax.saxutils import escape

from defusedxml.ElementTree import fromstring

NAMESPACE = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
    "2005-10-01/QuestionFormAnswers.xsd"
)

NOT_ANSWERS = frozenset({"assignmentId", "hitId", "workerId", "turkSubmitTo", "doNotRedirect"})
"""Fields of the submit contract (and a stray one of MTurk's own scripts) that answer nothing."""

JOIN = "|"
"""Between the values of a field that was posted more than once (a group of checkboxes)."""

# What XML 1.0 cannot carry: control characters, lone surrogates, non-characters.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def answers_xml(fields: Iterable[tuple[str, str]]) -> str:
    """Return the Answer of an assignment for its form fields, in the order they were posted.

    Characters that XML cannot carry become U+FFFD; everything else is kept as it was typed.
    """
    joined: dict[str, list[str]] = {}
    for name, value in fields:
        if name not in NOT_ANSWERS:
            joined.setdefault(name, []).append(value)
    answers = "".join(
        f"<Answer><QuestionIdentifier>{_text(name)}</QuestionIdentifier>"
        f"<FreeText>{_text(JOIN.join(values))}</FreeText></Answer>"
        for name, values in joined.items()
    )
    return (
        '<?xml version="1.0" encoding="ASCII"?>'
        f'<QuestionFormAnswers xmlns="{NAMESPACE}">{answers}</QuestionFormAnswers>'
    )


def answer_pairs(xml: str) -> list[tuple[str, str]]:
    """Return question and value, in order, of an answer that this server wrote."""
    root = fromstring(xml, forbid_dtd=True)
    return [(answer[0].text or "", answer[1].text or "") for answer in root]


def answer_sets(xml: str) -> dict[str, frozenset[str]]:
    """Return the values per question of an answer that this server wrote, outer spaces removed."""
    return {
        name: frozenset(part.strip() for part in value.split(JOIN))
        for name, value in answer_pairs(xml)
    }


def _text(value: str) -> str:
    clean = escape(_FORBIDDEN.sub("\ufffd", value), {"\r": "&#13;"})
    # The document says ASCII, as the service's did: every other character is a reference.
    return clean.encode("ascii", "xmlcharrefreplace").decode()
