"""Read what a client sends, with a limit on its size and on the time it may take."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qsl

from python_multipart.exceptions import MultipartParseError
from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

SECONDS = 30
"""For a whole body: a client that trickles its bytes does not hold a connection longer."""

MOST_FIELDS = 2000

Fields = list[tuple[str, str]]


class TooLarge(Exception):
    """The body is larger than allowed, or has too many fields."""


class Unreadable(Exception):
    """The body is not the form that its content type promises, or did not arrive in time."""


async def read_body(request: Request, most: int) -> bytes:
    """Return the whole body.

    Raises:
        TooLarge: It has more than `most` bytes.
        Unreadable: It did not arrive whole in time.
    """
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > most:
        raise TooLarge
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise TooLarge
                parts.append(part)
    except (TimeoutError, ClientDisconnect):
        raise Unreadable("The form did not arrive completely. Send it again.") from None
    return b"".join(parts)


async def read_fields(request: Request, most: int) -> Fields:
    """Return a posted form's fields in order; files are not taken.

    Raises:
        TooLarge: Too many bytes or fields.
        Unreadable: Not a form.
    """
    body = await read_body(request, most)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return await _multipart(request, body, most)
    try:
        return parse_qsl(
            body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS
        )
    except ValueError:
        raise TooLarge from None


async def _multipart(request: Request, body: bytes, most: int) -> Fields:
    async def stream() -> object:
        yield body

    parser = MultiPartParser(
        request.headers,
        stream(),  # type: ignore[arg-type]
        max_files=0,
        max_fields=MOST_FIELDS,
        max_part_size=most,
    )
    try:
        form: FormData = await parser.parse()
    except (MultiPartException, MultipartParseError, KeyError, UnicodeDecodeError) as error:
        raise Unreadable(f"The form cannot be read: {error}.") from None
    return [(name, value) for name, value in form.multi_items() if isinstance(value, str)]
