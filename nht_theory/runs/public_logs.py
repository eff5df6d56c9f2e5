"""Public logs at a pinned revision: downloaded from their authors, held to their hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nht_theory.errors import InputError
from nht_theory.runs.run_format import write_atomically

SECONDS = 60.0
"""Without an answer for so long, a download is given up."""
LARGEST = 64 * 1024**2
"""Bytes beyond which an answer is not one of these files."""


@dataclass(frozen=True)
class PublicLogs:
    """Files that others published.

    Attributes:
        name: as on the command line.
        address: of the directory, at the revision.
        licence: under which they are published.
        reference: the paper to cite.
        sha256: file name -> SHA-256 of its content, hexadecimal.
    """

    name: str
    address: str
    licence: str
    reference: str
    sha256: Mapping[str, str]


COMPANION = PublicLogs(
    name="companion",
    address="https://raw.githubusercontent.com/ClevixLab/grokking-norm-separation/"
    "3a96328ab80038426e2ace0f750f258c00e6a4cb/data",
    licence="MIT",
    reference="arXiv 2603.13331",
    sha256={
        "full_results1.json": "dc4706d5eef99494b29dd067d7e715c116ad0ab749e25aaf014c028cc34e2fea",
        "full_results2.json": "abf27cfab607b6ddf2f0d34d7e9d1eab282b853b56cfc570370b8b1fc69eab7d",
        "full_results3.json": "bfbf1139b4580c585325d8a42cfab561142b285656e153e6f423e18e6da1162e",
        "full_results4.json": "e52bec1d0b1ef5b6e0c26b043dfcd583e1f83b6a5b8f53ae7ad436e5717f9031",
        "full_results5.json": "f5e3401f9ea5259768c5a0b8263baf1848f32815e40c54b5e24f6a7ed64a4dc5",
        "full_results6.json": "3fb48bb9843d1add5e858cefe6986e06e0e7588f53148b07160b85d8702c240a",
        "full_results7.json": "c446fdedaad876fb8bdc54663e2cf30e9671bfa0b2ce9bc1679837876f5a8468",
        "full_results8.json": "d00d65beba6a0c51a64fe46092aa47d2407b6866f50d14d104e60514bc7e2382",
        "full_results9.json": "38380083797817013038fbc82b68b5e8fbee7923951c40019003dc1810e5277f",
        "full_results10.json": "6bff14e1041dd40e24426dabbf4bd5a13cd1921385d41f722a175e9705f57af0",
    },
)
PUBLIC_LOGS = {logs.name: logs for logs in (COMPANION,)}


def public_logs(name: str) -> PublicLogs:
    """The logs of that name.

    Raises:
        InputError: there are none; the message lists those there are.
    """
    try:
        return PUBLIC_LOGS[name]
    except KeyError:
        known = ", ".join(PUBLIC_LOGS)
        raise InputError(f"no public logs named {name!r}", remedy=f"known are {known}") from None


def fetch(
    logs: PublicLogs,
    directory: Path,
    *,
    address: str | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> tuple[Path, ...]:
    """Download public logs, each file whole and right or not at all.

    A file that is already there with the right content is kept.

    Args:
        logs: which.
        directory: where to put them; created.
        address: of a mirror of the directory.
        say: receives a line a file.

    Raises:
        InputError: no answer, an answer with another hash, or a different file of that name is
            already there.
    """
    paths = []
    for name, expected in logs.sha256.items():
        path = directory / name
        paths.append(path)
        if path.exists():
            if _sha256(path.read_bytes()) != expected:
                raise InputError(
                    "is there with another content", source=path, remedy="move it away, then fetch"
                )
            say(f"{name}: already there")
            continue
        data = _download(f"{address or logs.address}/{name}")
        if (found := _sha256(data)) != expected:
            raise InputError(
                f"hash of the download is {found[:12]}..., not {expected[:12]}...",
                source=f"{address or logs.address}/{name}",
                remedy="the publisher changed it, or the connection did: nothing was written",
            )
        write_atomically(path, data)
        say(f"{name}: {len(data):,} bytes")
    return tuple(paths)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _download(url: str) -> bytes:
    from http.client import HTTPException
    from urllib.request import urlopen

    try:
        with urlopen(url, timeout=SECONDS) as answer:
            data: bytes = answer.read(LARGEST + 1)
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(f"no download ({reason})", source=url) from None
    if len(data) > LARGEST:
        raise InputError(f"more than {LARGEST} bytes", source=url)
    return data
