"""Show a QuestionForm as a page: its content blocks and one control per question."""

from __future__ import annotations

from html import escape
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from pairs_to_words.annotation.server.faults import ServiceError
from pairs_to_words.annotation.server.question_form import child, children, text_of
from pairs_to_words.annotation.server.questions import parse_xml

_ALLOWED = frozenset(
    [
        "a",
        "b",
        "i",
        "em",
        "strong",
        "big",
        "small",
        "sub",
        "sup",
        "p",
        "br",
        "hr",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "pre",
        "code",
        "blockquote",
        "table",
        "thead",
        "tbody",
        "tr",
        "td",
        "th",
        "caption",
        "img",
        "span",
        "div",
        "font",
        "tt",
    ]
)
"""What FormattedContent may contain: markup for text, never a script or a form."""

_ATTRIBUTES = frozenset({"href", "src", "alt", "title", "colspan", "rowspan", "width", "height"})


def form_html(
    xml: str,
    *,
    preview: bool,
    action: str = "/mturk/externalSubmit",
    words: str = "Submit",
) -> str:
    """Return the page of a QuestionForm (checked when it was created)."""
    root = parse_xml(xml, "Question")
    blocks = []
    for element in root:
        name = _local(element)
        if name == "Overview":
            blocks.append(f'<section class="overview">{_content(element)}</section>')
        elif name == "Question":
            blocks.append(_question(element))
    button = "" if preview else f'<p><button type="submit">{escape(words)}</button></p>'
    disabled = " disabled" if preview else ""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<title>Task</title><link rel="stylesheet" href="/static/form.css"></head><body>'
        f'<form method="post" action="{escape(action)}">'
        '<input type="hidden" name="assignmentId" value="">'
        f'<fieldset class="all"{disabled}>{"".join(blocks)}{button}</fieldset></form></body></html>'
    )


def _question(question: Element) -> str:
    identifier = text_of(question, "QuestionIdentifier")
    name = text_of(question, "DisplayName")
    content = child(question, "QuestionContent")
    specification = child(question, "AnswerSpecification")
    assert content is not None and specification is not None  # checked at creation
    required = text_of(question, "IsRequired") == "true"
    title = f"<h2>{escape(name)}</h2>" if name else ""
    legend = f"<legend>{title}{_content(content)}</legend>"
    free = child(specification, "FreeTextAnswer")
    if free is not None:
        control = _free_text(identifier, free, required)
    else:
        selection = child(specification, "SelectionAnswer")
        assert selection is not None
        control = _selection(identifier, selection, required)
    return f"<fieldset>{legend}{control}</fieldset>"


def _free_text(identifier: str, free: Element, required: bool) -> str:
    default = escape(text_of(free, "DefaultText"))
    lines = text_of(free, "NumberOfLinesSuggestion")
    rows = int(lines) if lines.isascii() and lines.isdigit() else 1
    attributes = f'name="{escape(identifier)}" aria-label="Answer"'
    attributes += " required" if required else ""
    constraints = child(free, "Constraints")
    if constraints is not None:
        attributes += _constraints(constraints)
    if rows > 1:
        return f'<textarea {attributes} rows="{min(rows, 40)}">{default}</textarea>'
    return f'<input type="text" {attributes} value="{default}">'


def _constraints(constraints: Element) -> str:
    attributes = ""
    length = child(constraints, "Length")
    if length is not None:
        for name, attribute in (("minLength", "minlength"), ("maxLength", "maxlength")):
            value = length.get(name, "")
            if value.isascii() and value.isdigit():
                attributes += f' {attribute}="{value}"'
    numeric = child(constraints, "IsNumeric")
    if numeric is not None:
        attributes += ' inputmode="decimal" pattern="-?[0-9]*[.]?[0-9]+" title="A number"'
    pattern = child(constraints, "AnswerFormatRegex")
    if pattern is not None and numeric is None:
        attributes += f' pattern="{escape(pattern.get("regex", ".*"))}"'
        attributes += f' title="{escape(pattern.get("errorText", "This format"))}"'
    return attributes


def _selection(identifier: str, selection: Element, required: bool) -> str:
    style = text_of(selection, "StyleSuggestion") or "radiobutton"
    most = text_of(selection, "MaxSelectionCount") or "1"
    selections = child(selection, "Selections")
    assert selections is not None
    options = children(selections, "Selection")
    if style in ("dropdown", "combobox", "list", "multichooser"):
        multiple = most != "1" or style == "multichooser"
        inner = "".join(
            f'<option value="{escape(text_of(o, "SelectionIdentifier"))}">'
            f"{escape(_words(o))}</option>"
            for o in options
        )
        empty = "" if multiple else '<option value="">Choose</option>'
        attributes = " multiple" if multiple else ""
        attributes += " required" if required else ""
        return (
            f'<select name="{escape(identifier)}" aria-label="Answer"{attributes}>'
            f"{empty}{inner}</select>"
        )
    kind = "checkbox" if style == "checkbox" or most != "1" else "radio"
    needed = " required" if required and kind == "radio" else ""
    return "".join(
        f'<label class="choice"><input type="{kind}" name="{escape(identifier)}" '
        f'value="{escape(text_of(o, "SelectionIdentifier"))}"{needed}> '
        f"<span>{_label(o)}</span></label>"
        for o in options
    )


def _label(option: Element) -> str:
    formatted = child(option, "FormattedContent")
    if formatted is not None:
        return _formatted(formatted.text or "")
    binary = child(option, "Binary")
    return _binary(binary) if binary is not None else escape(text_of(option, "Text"))


def _words(option: Element) -> str:
    return text_of(option, "Text") or text_of(option, "SelectionIdentifier")


def _content(parent: Element) -> str:
    parts = []
    for element in parent:
        name = _local(element)
        words = escape((element.text or "").strip())
        if name == "Title":
            parts.append(f"<h2>{words}</h2>")
        elif name == "Text":
            parts.append(f"<p>{words}</p>")
        elif name == "List":
            items = "".join(
                f"<li>{escape(i.text or '')}</li>" for i in children(element, "ListItem")
            )
            parts.append(f"<ul>{items}</ul>")
        elif name == "Binary":
            parts.append(_binary(element))
        elif name == "FormattedContent":
            parts.append(_formatted(element.text or ""))
    return "".join(parts)


def _binary(element: Element) -> str:
    address, words = text_of(element, "DataURL"), escape(text_of(element, "AltText"))
    mime = child(element, "MimeType")
    kind = text_of(mime, "Type") if mime is not None else "image"
    if not _is_web(address):
        return ""
    if kind in ("audio", "video"):
        return f'<{kind} controls src="{escape(address)}" aria-label="{words}"></{kind}>'
    return f'<img src="{escape(address)}" alt="{words}">'


def _formatted(markup: str) -> str:
    """Return XHTML with only text markup left; content that is no XHTML appears as its text."""
    try:
        root = parse_xml(f"<div>{markup}</div>", "FormattedContent")
    except ServiceError:
        return f"<p>{escape(markup)}</p>"
    return _clean(root)


def _clean(element: Element) -> str:
    name = _local(element).lower()
    inner = escape(element.text or "")
    for part in element:
        inner += _clean(part) + escape(part.tail or "")
    if name in ("script", "style", "iframe", "object", "embed"):
        return ""
    if name not in _ALLOWED:
        return inner
    attributes = "".join(
        f' {key}="{escape(value)}"'
        for key, value in element.attrib.items()
        if key in _ATTRIBUTES and (key not in ("href", "src") or _is_web(value))
    )
    if name == "a":
        attributes += ' target="_blank" rel="noopener noreferrer"'
    return (
        f"<{name}{attributes}>"
        if name in ("br", "hr", "img")
        else (f"<{name}{attributes}>{inner}</{name}>")
    )


def _is_web(address: str) -> bool:
    return urlsplit(address).scheme in ("http", "https") or address.startswith("/photos/")


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]
