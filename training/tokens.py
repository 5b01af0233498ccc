"""Split text as the Stanford PTB tokenizer of pycocoevalcap does, without Java.

pycocoevalcap runs Stanford's PTBTokenizer 3.4.1 (`-preserveLines -lowerCase`) and drops a list of
punctuation tokens. That lexer takes the longest match at each place, the first rule among equals;
so does `_split` below, with the rules that English captions meet. Written from observed behaviour:
tests/real/test_training_metrics.py holds it against recorded tokens of real sentences.

Two quirks of the original are kept because published scores contain them: brackets survive as
`-lrb-` and `-rrb-` (its list spells them in capitals, after lower-casing), and the space inside a
mixed number such as `1 1/2` becomes a no-break space.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

PUNCTUATION = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"])
"""Tokens that pycocoevalcap drops after tokenising (its upper-case brackets never occur)."""

_SPELLINGS = str.maketrans(
    {
        "‘": "'", "’": "'", "\x91": "'", "\x92": "'", "“": '"', "”": '"', "\x93": '"', "\x94": '"',
        "–": "--", "—": "--", "…": "...", "½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3",
        "⅔": "2/3", "£": "#", "€": "$", "\u00ad": "", "\u200b": " ", "\ufeff": "",
    }
)  # fmt: skip
_BRACKETS = str.maketrans(
    {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}
)
_ASSIMILATED = {
    "cannot": ["can", "not"], "gonna": ["gon", "na"], "gotta": ["got", "ta"],
    "lemme": ["lem", "me"], "gimme": ["gim", "me"], "wanna": ["wan", "na"],
    "'tis": ["'t", "is"], "'twas": ["'t", "was"], '"': [],
}  # fmt: skip

_LETTER = r"[^\W\d_]"
_ALNUM = r"[^\W_]"
_END = rf"(?!{_ALNUM})"
_NUMBER = r"(?:\d+(?:[.:,]\d+)*|(?:\.\d+)+)"
_WORD = rf"{_LETTER}{_ALNUM}*(?:[.!?]{_LETTER}{_ALNUM}*)*"
_PART = rf"(?:{_ALNUM}+|{_NUMBER})"
_ABBREVIATIONS = "|".join(
    [
        # months, days, American states
        "jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec|mon|tues?|wed|thu|thurs|fri",
        "ala|ariz|az|ark|calif|colo|conn|ct|dak|del|fla|ga|ill|ind|kans?|ky|la|mass|md|mich|minn|miss",
        "mo|mont|neb|nev|okla|ore|pa|penn|tenn|tex|va|vt|wash|wisc?|wyo",
        # companies, titles, places and the rest
        "inc|cos?|corp|pp?t[ye]s?|ltd|plc|rt|bancorp|bhd|assn|univ|intl|sys|tel|est|ext|sq|jr|sr|bros",
        r"(?:ed|ph)\.d|[bdm]\.sc|esq|etc|al|seq|bldg|mr|mrs|ms|drs?|profs?|sens?|reps?|attys?|lt|col",
        "gen|messrs|govs?|adm|rev|maj|sgt|cpl|pvt|capt|ste?|ave|pres|lieut|hon|brig|co?mdr|pfc|spc",
        "supts?|det|mt|ft|adj|adv|asst|assoc|ens|insp|mlle|mme|msgr|sfc|vs|invt|elec|natl|mfg|dept",
        "blvd|rd|cf",
    ]
)
_CLITIC = rf"'(?:m|s|d|re|ve|ll|em){_END}"

# Splits inside a word go first: the lexer counts what stands after the split into the length.
_SPLIT = re.compile(
    rf"'?{_LETTER}*[a-mo-z](?=n['`]ts?{_END})|n['`]ts?{_END}"  # does|n't
    rf"|(?:{_WORD}|{_NUMBER})(?={_CLITIC})|{_CLITIC}",  # animal|'s
    re.IGNORECASE,
)
_RULES = [
    re.compile(rule, re.IGNORECASE)
    for rule in (
        rf"{_LETTER}*[aeiouy]'{_LETTER}+",  # o'clock
        rf"'n'|'n{_END}|ol'|somethin'|'[2-9]0s|'till?{_END}|'cause{_END}|[ldj]'(?={_LETTER})",
        rf"y'(?={_LETTER})|'t(?:is|was){_END}",
        rf"(?:[dol]'{_ALNUM})?{_PART}(?:-(?:[dol]'{_ALNUM})?{_PART})*",  # red-brown
        rf"{_ALNUM}[\w.,]*(?:[-_]{_ALNUM}+(?:\.\d+)?)+(?![\w.+])",
        rf"{_ALNUM}+(?:-{_LETTER}+){{0,2}}(?:/{_ALNUM}+(?:-{_LETTER}+){{0,2}}){{1,2}}",  # and/or
        _WORD,
        rf"(?:{_ABBREVIATIONS})\.{_END}|{_LETTER}(?:\.{_LETTER})*\.{_END}",
        rf"(?:{_WORD}|{_PART}(?:-{_PART})*)\.(?=[,;:])",
        rf"[-+]?{_NUMBER}",
        r"\d{1,4}(?:[-\xa0]\d{1,4})?/\d{1,4}",  # 2-1/2
        r"\d{1,2}[-/]\d{1,2}[-/]\d{2,4}",
        rf"[#@]{_LETTER}\w*",
        r"[a-z]+(?:[+&][a-z]+)+(?=[A-Z])|[A-Z]+(?:[+&][A-Z]+)+",
        r"(?:https?|ftp)://[^\s<>|()\"]+[^\s<>|.!?,;:&\"()-]",
        r"(?:www\.[^\s<>|!?,()\"]+|(?:[^\s<>|.!?,():/$\"]+\.)+(?:com|net|org|edu))(?!\w)"
        r"(?:/[^\s<>|()\"]+[^\s<>|.!?,;:&()\"-])?",
        r"[a-z0-9][^\s<>|()\"]*@(?:[^\s<>|(){}.\"]+\.)+[^\s<>|(){}.,;:\"]+",
        r"</?[a-z!?][^>]*>",
        r"[:;=]-?[()DPpOo](?!\w)",
        r"[?!]+|-+|_+|\*+|=+|''|``|\.\.+",
        r".",
    )
]
_PLAIN = re.compile(r"([^\W\d_]+)[,;:.]?")
_KEEPS_STOP = re.compile(rf"(?:{_ABBREVIATIONS}|{_LETTER})\.", re.IGNORECASE)
_CHUNK = re.compile(
    r"(?P<numbered>(?:figs?|nos?|pp?|arts?)\.(?=\s+\d))|[^ \t\r\n\f\v]+", re.IGNORECASE
)
_ACROSS_SPACE = re.compile(r"(?<![\w/])(\d{1,4}) (\d{1,4}/\d{1,4})(?![\d/])")


def tokenize(text: str) -> list[str]:
    """Return the PTB tokens of one text, lower-cased, without punctuation."""
    return tokenize_all([text])[0]


def tokenize_all(texts: Iterable[str]) -> list[list[str]]:
    """Return the tokens of each text; a chunk between spaces is split once for all texts."""
    known: dict[str, list[str]] = {}
    return [_tokens_of(text, known) for text in texts]


def _tokens_of(text: str, known: dict[str, list[str]]) -> list[str]:
    if not text.isascii():
        text = text.replace("\xa0", " ").translate(_SPELLINGS)
    if "/" in text:
        text = _ACROSS_SPACE.sub("\\1\xa0\\2", text)
    tokens: list[str] = []
    for found in _CHUNK.finditer(text):
        chunk = found[0]
        if found["numbered"]:
            tokens.append(chunk.lower())
            continue
        if chunk not in known:
            known[chunk] = _chunk_tokens(chunk)
        tokens += known[chunk]
    return tokens


def _chunk_tokens(chunk: str) -> list[str]:
    plain = _PLAIN.fullmatch(chunk)
    if plain and not _KEEPS_STOP.fullmatch(chunk) and plain[1].lower() not in _ASSIMILATED:
        return [plain[1].lower()]
    tokens: list[str] = []
    place = 0
    while place < len(chunk):
        found = _SPLIT.match(chunk, place)
        found = found or max((rule.match(chunk, place) for rule in _RULES), key=_length)
        assert found is not None  # the last rule matches any character
        place = found.end()
        token = found[0].lower()
        tokens += _ASSIMILATED.get(token, [token.translate(_BRACKETS)])
    return [token for token in tokens if token not in PUNCTUATION and token.strip(".")]


def _length(match: re.Match[str] | None) -> int:
    return match.end() if match else -1
