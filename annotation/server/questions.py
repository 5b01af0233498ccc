"""Read Question XML: which of the three kinds it is, and what a page needs of it."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, fromstring
from pairs_to_words.annotation.server.faults import ParameterValidationError, not_valid

MAX_BYTES = 65_535
"""Of a Question, Test or AnswerKey, white space included (service model)."""

_SCHEMAS = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas"
HTML = f"{{{_SCHEMAS}/2011-11-11/HTMLQuestion.xsd}}HTMLQuestion"
EXTERNAL = f"{{{_SCHEMAS}/2006-07-14/ExternalQuestion.xsd}}ExternalQuestion"
FORMS = frozenset(
    f"{{{_SCHEMAS}/{version}/QuestionForm.xsd}}QuestionForm"
    for version in ("2005-10-01", "2017-11-06")
)
ANSWER_KEY = f"{{{_SCHEMAS}/2005-10-01/AnswerKey.xsd}}AnswerKey"


@dataclass(frozen=True)
class Question:
    """A HIT's question.

    Attributes:
        kind: `html`, `external` or `form`.
        content: HTML, the external URL, or the QuestionForm XML.
        frame_height: Pixels asked for; 0 lets the page decide.
    """

    kind: str
    content: str
    frame_height: int = 0


def parse_xml(xml: str, parameter: str) -> Element:
    """Parse an XML parameter.

    Raises:
        ParameterValidationError: Too large, not well-formed, or with a DTD or entities.
    """
    if len(xml.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ParameterValidationError(
            f"The parameter {parameter} must not be longer than {MAX_BYTES} bytes."
        )
    try:
        root: Element = fromstring(xml, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, UnicodeEncodeError) as error:
        raise _not_schema(f"{parameter}: {error}") from None
    return root


def parse_question(xml: str) -> Question:
    """Read and check a Question parameter.

    Raises:
        ParameterValidationError: Not one of the three question structures.
    """
    root = parse_xml(xml, "Question")
    if root.tag == HTML:
        content = _child(root, "HTMLContent")
        if not content.strip():
            raise _not_schema("HTMLContent is empty")
        return Question("html", content, _height(root))
    if root.tag == EXTERNAL:
        url = _child(root, "ExternalURL").strip()
        parts = urlsplit(url)
        if not parts.hostname or not (parts.scheme == "https" or _is_local(parts)):
            raise not_valid(url, "ExternalURL")
        return Question("external", url, _height(root))
    if root.tag in FORMS:
        from pairs_to_words.annotation.server.question_form import check_form

        check_form(root)
        return Question("form", xml)
    raise _not_schema(f"the document element {root.tag} is not HTMLQuestion, ExternalQuestion or")


def _is_local(parts: object) -> bool:
    # The real service asked for https; a page on one's own machine has no certificate.
    scheme, host = getattr(parts, "scheme", ""), getattr(parts, "hostname", "")
    return scheme == "http" and host in ("localhost", "127.0.0.1", "::1")


def _child(root: Element, name: str) -> str:
    namespace = root.tag.partition("}")[0] + "}"
    found = root.find(namespace + name)
    if found is None:
        raise _not_schema(f"{name} is missing")
    return found.text or ""


def _height(root: Element) -> int:
    text = _child(root, "FrameHeight").strip()
    if not text.isascii() or not text.isdigit() or int(text) > 100_000:
        raise not_valid(text, "FrameHeight")
    return int(text)


def _not_schema(detail: str) -> ParameterValidationError:
    return ParameterValidationError(
        "There was an error parsing the XML question or answer data in your request.  Please make "
        f"sure the data is well-formed and validates against the appropriate schema. Details: "
        f"{detail}",
        "XMLParseError",
    )
