"""Read an assignment's Answer XML, which a stranger wrote, with hard limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast
from xml.etree.ElementTree import Element, XMLPullParser

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser, ParseError
from pairs_to_words.project.errors import UserError

NAMESPACE = (
    "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
    "2005-10-01/QuestionFormAnswers.xsd"
)
MOST_BYTES = 4_000_000
DEEPEST = 8
"""The schema needs three levels; ElementTree alone would take hundreds of thousands."""

VALUES = ("FreeText", "SelectionIdentifier", "OtherSelectionText")


class Unreadable(UserError):
    """The answer is not what the service should have sent: it goes into quarantine."""


def parse_answer(xml: str) -> dict[str, str]:
    """Return field -> value of an Answer, in its order.

    Raises:
        Unreadable: Too large, too deep, not well-formed, a DTD or entities, a wrong namespace, a
            field without a name, or a field that comes twice.
    """
    if len(xml) > MOST_BYTES:
        raise Unreadable(f"The answer has {len(xml):,} characters, more than {MOST_BYTES:,}.")
    root = _parse(xml)
    if root.tag != f"{{{NAMESPACE}}}QuestionFormAnswers":
        raise Unreadable(f"The answer's document element is {root.tag[:100]!r}.")
    fields: dict[str, str] = {}
    for answer in root.findall(f"{{{NAMESPACE}}}Answer"):
        name = answer.findtext(f"{{{NAMESPACE}}}QuestionIdentifier") or ""
        if not name:
            raise Unreadable("The answer has a field without a name.")
        if name in fields:
            raise Unreadable(f"The answer has the field {name[:100]!r} twice.")
        fields[name] = "|".join(
            element.text or ""
            for kind in VALUES
            for element in answer.findall(f"{{{NAMESPACE}}}{kind}")
        )
    return fields


def _parse(xml: str) -> Element:
    parser = DefusedXMLParser(forbid_dtd=True, forbid_entities=True)
    pull = XMLPullParser(("start", "end"), _parser=parser)
    root: Element | None = None
    depth = 0
    try:
        for start in range(0, len(xml) + 1, 65_536):
            pull.feed(xml[start : start + 65_536])
            for event, element in cast("Iterable[tuple[str, Element]]", pull.read_events()):
                root = element if root is None else root
                depth += 1 if event == "start" else -1
                if depth > DEEPEST:
                    raise Unreadable(f"The answer is nested deeper than {DEEPEST} levels.")
        pull.close()
    except (ParseError, DefusedXmlException, UnicodeEncodeError, ValueError) as error:
        raise Unreadable(f"The answer is not well-formed XML: {error}.") from None
    if root is None:
        raise Unreadable("The answer is empty.")
    return root
