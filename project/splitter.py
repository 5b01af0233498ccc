"""Sentences and words of a text: the one splitter behind every count that is reported.

`SPLITTER` names it and its version; releases print it beside their statistics.
"""

from __future__ import annotations

import re

SPLITTER = "pairs-to-words splitter 1"

_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
# A full stop after the first never ends a sentence, after the second only before a capital.
_NEVER_LAST = frozenset({"e.g", "i.e", "vs", "cf", "mr", "mrs", "dr"})
_ABBREVIATIONS = frozenset({"etc", "approx", "no", "nr", "fig", "ca", "st", "in", "cm", "mm", "ft"})
_END = re.compile(r"([.!?…]+[\"'”’)\]]*)(?=\s+\S|$)")


def words(text: str) -> list[str]:
    """Return the words: runs of letters and digits, joined by inner apostrophe, dot or hyphen."""
    return _WORD.findall(text)


def sentences(text: str) -> list[str]:
    """Return the sentences, split after . ! ? or … and at line breaks.

    Not split: after a known abbreviation or a single letter (`A. b.`), inside numbers (`1.5`).
    """
    found: list[str] = []
    for line in text.splitlines():
        start = 0
        for match in _END.finditer(line):
            before = line[start : match.start()].rsplit(None, 1)
            last = before[-1].lower().lstrip("(\"'") if before else ""
            initial = len(last) == 1 and last.isalpha()
            if match[1].startswith(".") and len(match[1]) == 1:
                following = line[match.end() :].lstrip()[:1]
                shortened = last in _ABBREVIATIONS and not following.isupper()
                if following and (last in _NEVER_LAST or initial or shortened):
                    continue
            found.append(line[start : match.end()].strip())
            start = match.end()
        found.append(line[start:].strip())
    return [sentence for sentence in found if _WORD.search(sentence)]
