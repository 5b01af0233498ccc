"""Verify AWS Signature Version 4 on a request, against keys that this server issued.

The algorithm is AWS's published one: canonical request, string to sign, derived key, HMAC-SHA256.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import parse_qsl, quote

from pairs_to_words.annotation.server.faults import ServiceError

SERVICE = "mturk-requester"
ALGORITHM = "AWS4-HMAC-SHA256"
SKEW_MS = 5 * 60 * 1000
"""How far a request's clock may be from ours, as on AWS."""

SecretOf = Callable[[str], str | None]


@dataclass(frozen=True)
class Request:
    """The parts of an HTTP request that are signed.

    Attributes:
        method: Upper case.
        path: Percent-encoded path as sent.
        query: Query string as sent.
        headers: Names in lower case with their values, in order of arrival.
        body: The whole body.
    """

    method: str
    path: str
    query: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """Return the values of a header joined by commas, outer and repeated spaces removed."""
        values = [" ".join(value.split()) for key, value in self.headers if key == name]
        return ",".join(values)


def verify(request: Request, secret_of: SecretOf, now: int) -> str:
    """Check the signature; return the access key id that signed.

    Args:
        request: What was received.
        secret_of: Looks up the secret of an access key id; None for an unknown key.
        now: Milliseconds since 1970 UTC.

    Raises:
        ServiceError: No or malformed signature, unknown key, wrong signature, clock too far off.
    """
    key_id, scope, signed_names, signature = _authorization(request.header("authorization"))
    moment = request.header("x-amz-date")
    _check_clock(moment, now)
    date, region, service, terminator = scope
    if service != SERVICE or terminator != "aws4_request" or date != moment[:8]:
        raise ServiceError(
            "InvalidSignatureException",
            f"Credential should be scoped to correct service: '{SERVICE}'.",
        )
    if "host" not in signed_names:
        raise _incomplete("'Host' must be a 'SignedHeader' in the AWS Authorization.")
    secret = secret_of(key_id)
    if secret is None:
        raise ServiceError(
            "UnrecognizedClientException", "The security token included in the request is invalid."
        )
    expected = sign(request, secret, moment, (date, region), signed_names)
    if not hmac.compare_digest(expected, signature):
        raise ServiceError(
            "InvalidSignatureException",
            "The request signature we calculated does not match the signature you provided. "
            "Check your AWS Secret Access Key and signing method. "
            "Consult the service documentation for details.",
        )
    return key_id


def sign(
    request: Request, secret: str, moment: str, scope: tuple[str, str], signed_names: Sequence[str]
) -> str:
    """Return the signature (hex) of a request.

    Args:
        request: What is signed.
        secret: The secret access key.
        moment: `x-amz-date`, such as `20260101T120000Z`.
        scope: Date and region of the credential.
        signed_names: Signed header names in lower case, sorted.
    """
    canonical = "\n".join(
        [
            request.method,
            request.path or "/",
            _canonical_query(request.query),
            *[f"{name}:{request.header(name)}" for name in signed_names],
            "",
            ";".join(signed_names),
            sha256(request.body).hexdigest(),
        ]
    )
    credential_scope = f"{scope[0]}/{scope[1]}/{SERVICE}/aws4_request"
    to_sign = "\n".join(
        [ALGORITHM, moment, credential_scope, sha256(canonical.encode()).hexdigest()]
    )
    key = f"AWS4{secret}".encode()
    for part in (scope[0], scope[1], SERVICE, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, to_sign.encode(), "sha256").hex()


def _authorization(header: str) -> tuple[str, list[str], list[str], str]:
    if not header:
        raise ServiceError("MissingAuthenticationTokenException", "Missing Authentication Token")
    found = re.fullmatch(
        rf"{ALGORITHM} +Credential=([^, ]+), *SignedHeaders=([^, ]+), *Signature=([0-9a-f]{{64}})",
        header,
    )
    if found is None:
        raise _incomplete(
            "Authorization header requires 'Credential', 'SignedHeaders' and 'Signature' "
            f"parameters of {ALGORITHM}."
        )
    key_id, *scope = found[1].split("/")
    if len(scope) != 4:
        raise _incomplete("Credential must have exactly 5 slash-delimited elements.")
    names = found[2].split(";")
    if names != sorted(set(names)):
        raise _incomplete("SignedHeaders must be sorted and unique.")
    return key_id, scope, names, found[3]


def _check_clock(moment: str, now: int) -> None:
    try:
        signed_at = datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        raise _incomplete("'X-Amz-Date' must be given as YYYYMMDD'T'HHMMSS'Z'.") from None
    drift = int(signed_at.timestamp() * 1000) - now
    if abs(drift) <= SKEW_MS:
        return
    limit = datetime.fromtimestamp(now / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    if drift < 0:
        words = f"Signature expired: {moment} is now earlier than {limit} - 5 min."
    else:
        words = f"Signature not yet current: {moment} is still later than {limit} + 5 min."
    raise ServiceError("InvalidSignatureException", words)


def _canonical_query(query: str) -> str:
    pairs = parse_qsl(query, keep_blank_values=True)
    encoded = sorted((quote(k, safe="-_.~"), quote(v, safe="-_.~")) for k, v in pairs)
    return "&".join(f"{k}={v}" for k, v in encoded)


def _incomplete(words: str) -> ServiceError:
    return ServiceError("IncompleteSignatureException", words)
