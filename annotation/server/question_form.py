"""QuestionForm and AnswerKey XML: check their structure, and grade a test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element

from pairs_to_words.annotation.server.faults import ParameterValidationError, not_valid
from pairs_to_words.annotation.server.questions import ANSWER_KEY, FORMS, parse_xml


def check_form(root: Element) -> None:
    """Check a QuestionForm: at least one question, identifiers unique, answers specified.

    Raises:
        ParameterValidationError: Naming the question that is wrong.
    """
    seen: set[str] = set()
    for question in children(root, "Question"):
        identifier = text_of(question, "QuestionIdentifier")
        if not identifier:
            raise _malformed("a Question has no QuestionIdentifier")
        if identifier in seen:
            raise _malformed(f"the QuestionIdentifier {identifier} is used twice")
        seen.add(identifier)
        if child(question, "QuestionContent") is None:
            raise _malformed(f"Question {identifier} has no QuestionContent")
        _check_specification(identifier, child(question, "AnswerSpecification"))
    if not seen:
        raise _malformed("a QuestionForm needs at least one Question")


def check_test(xml: str) -> None:
    """Check a qualification test: a QuestionForm and nothing else."""
    root = parse_xml(xml, "Test")
    if root.tag not in FORMS:
        raise not_valid(root.tag, "Test")
    check_form(root)


def check_answer_key(xml: str) -> None:
    """Check an AnswerKey: scores are whole numbers, options name selections."""
    root = parse_xml(xml, "AnswerKey")
    if root.tag != ANSWER_KEY:
        raise not_valid(root.tag, "AnswerKey")
    if not children(root, "Question"):
        raise _malformed("an AnswerKey needs at least one Question")
    _grade(root, {})


def grade(xml: str, fields: Iterable[tuple[str, str]]) -> int:
    """Return the qualification value that an AnswerKey gives to posted answers."""
    chosen: dict[str, set[str]] = {}
    for name, value in fields:
        chosen.setdefault(name, set()).add(value.strip())
    return _grade(parse_xml(xml, "AnswerKey"), chosen)


def _grade(root: Element, chosen: dict[str, set[str]]) -> int:
    total = 0
    for question in children(root, "Question"):
        answers = chosen.get(text_of(question, "QuestionIdentifier"), set())
        score = _integer(question, "DefaultScore", 0)
        matched = False
        for option in children(question, "AnswerOption"):
            wanted = {(e.text or "").strip() for e in children(option, "SelectionIdentifier")}
            if not wanted:
                raise _malformed("an AnswerOption has no SelectionIdentifier")
            points = _integer(option, "AnswerScore", None)
            if not matched and wanted == answers:
                score, matched = points, True
        total += score
    return _mapped(child(root, "QualificationValueMapping"), total)


def _mapped(mapping: Element | None, total: int) -> int:
    if mapping is None:
        return total
    percentage = child(mapping, "PercentageMapping")
    if percentage is not None:
        most = _integer(percentage, "MaximumSummedScore", None)
        if most < 1:
            raise not_valid(most, "MaximumSummedScore")
        return total * 100 // most
    scale = child(mapping, "ScaleMapping")
    if scale is not None:
        try:
            return int(total * float(text_of(scale, "SummedScoreMultiplier")))
        except ValueError:
            raise _malformed("SummedScoreMultiplier is not a number") from None
    ranges = child(mapping, "RangeMapping")
    if ranges is None:
        raise _malformed("QualificationValueMapping has no mapping")
    value = _integer(ranges, "OutOfRangeQualificationValue", 0)
    for step in children(ranges, "SummedScoreRange"):
        low = _integer(step, "InclusiveLowerBound", None)
        high = _integer(step, "InclusiveUpperBound", None)
        if low <= total <= high:
            value = _integer(step, "QualificationValue", None)
    return value


def _check_specification(identifier: str, specification: Element | None) -> None:
    if specification is None:
        raise _malformed(f"Question {identifier} has no AnswerSpecification")
    if child(specification, "FreeTextAnswer") is not None:
        return
    selection = child(specification, "SelectionAnswer")
    if selection is None:
        raise _malformed(f"Question {identifier} has neither FreeTextAnswer nor SelectionAnswer")
    selections = child(selection, "Selections")
    if selections is None or not children(selections, "Selection"):
        raise _malformed(f"Question {identifier} has no Selections")
    if any(not text_of(s, "SelectionIdentifier") for s in children(selections, "Selection")):
        raise _malformed(f"Question {identifier} has a Selection without SelectionIdentifier")


def children(parent: Element, name: str) -> Sequence[Element]:
    """Return the children with a local name, whatever their namespace version."""
    return [element for element in parent if element.tag.rpartition("}")[2] == name]


def child(parent: Element, name: str) -> Element | None:
    """Return the first child with a local name."""
    return next(iter(children(parent, name)), None)


def text_of(parent: Element, name: str) -> str:
    """Return a child's text without outer spaces, empty when there is none."""
    found = child(parent, name)
    return "" if found is None else (found.text or "").strip()


def _integer(parent: Element, name: str, default: int | None) -> int:
    words = text_of(parent, name)
    if not words and default is not None:
        return default
    try:
        return int(words)
    except ValueError:
        raise _malformed(f"{name} is {words!r}, expected a whole number") from None


def _malformed(detail: str) -> ParameterValidationError:
    return ParameterValidationError(
        "There was an error parsing the XML question or answer data in your request.  Please make "
        f"sure the data is well-formed and validates against the appropriate schema. Details: "
        f"{detail}.",
        "XMLParseError",
    )
