"""The operands of a pickle's instructions: numbers, strings and bytes, read within bounds."""

from __future__ import annotations

import codecs
from typing import Any

from nht_theory.checkpoints import limits
from nht_theory.checkpoints.pickle_values import Skipped

_COPIED_BYTES = 1 << 22


class OperandReader:
    """Reads operands from the bytes of a pickle onto a stack.

    What leaves the bytes raises IndexError or ValueError; a string beyond
    :mod:`nht_theory.checkpoints.limits` is passed over.

    Args:
        data: the bytes, from the pickle's first instruction on.
    """

    def __init__(self, data: memoryview) -> None:
        # Short pickles are copied: bytes are sliced three times faster than a view of them.
        self._data: bytes | memoryview = bytes(data) if len(data) <= _COPIED_BYTES else data
        self._at = 0
        self._stack: list[Any] = []

    def _take(self, count: int) -> bytes | memoryview:
        start = self._at
        if count < 0 or start + count > len(self._data):
            raise ValueError("beyond the end")
        self._at = start + count
        return self._data[start : start + count]

    def _number(self, count: int) -> int:
        start = self._at
        self._at = start + count
        if self._at > len(self._data):
            raise ValueError("beyond the end")
        return int.from_bytes(self._data[start : self._at], "little")

    def _line(self) -> str:
        window = bytes(self._data[self._at : self._at + limits.PICKLE_TEXT_BYTES])
        end = window.index(b"\n")
        self._at += end + 1
        return window[:end].decode("utf-8")

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _text(self, count: int) -> None:
        start = self._at
        self._at = start + count
        self._push(self._as_text(start, self._at))

    def _as_text(self, start: int, end: int) -> str | Skipped:
        if end > len(self._data):
            raise ValueError("beyond the end")
        if end - start > limits.PICKLE_TEXT_BYTES:
            return Skipped("text", end - start)
        return str(self._data[start:end], "utf-8", "surrogatepass")

    def _bytes(self, count: int) -> None:
        raw = self._take(count)
        long = count > limits.PICKLE_TEXT_BYTES
        self._push(Skipped("bytes", count) if long else bytes(raw))

    def _old_string(self, count: int) -> None:
        raw = self._take(count)
        long = count > limits.PICKLE_TEXT_BYTES
        self._push(Skipped("text", count) if long else bytes(raw).decode("latin-1"))

    def _integer(self, count: int) -> None:
        raw = self._take(count)
        if count > 64:
            self._push(Skipped("integer", count))
        else:
            self._push(int.from_bytes(raw, "little", signed=True))

    def _float_line(self) -> None:
        self._push(float(self._line()))

    def _int_line(self) -> None:
        line = self._line()
        booleans = {"00": False, "01": True}
        self._push(booleans[line] if line in booleans else self._bounded_int(line))

    def _long_line(self) -> None:
        self._push(self._bounded_int(self._line().rstrip("L")))

    @staticmethod
    def _bounded_int(line: str) -> int:
        if len(line) > 200:
            raise ValueError("a number of more than 200 digits")
        return int(line)

    def _string_line(self) -> None:
        line = self._line()
        if len(line) < 2 or line[0] not in "'\"" or line[-1] != line[0]:
            raise ValueError("a string without quotes")
        raw, _ = codecs.escape_decode(line[1:-1].encode("latin-1"))
        self._push(raw.decode("latin-1"))

    def _unicode_line(self) -> None:
        self._push(self._line().encode("latin-1", "replace").decode("raw-unicode-escape"))
