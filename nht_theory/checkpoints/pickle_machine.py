"""A pickle read without running it: operands, and the opcodes that torch.save needs."""

from __future__ import annotations

import codecs
import gc
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from nht_theory.checkpoints import mapped_file
from nht_theory.checkpoints.pickle_policy import OpaqueObject, Skipped, Symbol, plain_key
from nht_theory.errors import InputError, UnsafeFileError


@contextmanager
def gc_disabled() -> Iterator[None]:
    """Collect no garbage meanwhile; threads may do so at the same time.

    Example:
        >>> with gc_disabled():
        ...     gc.isenabled()
        False
        >>> gc.isenabled()
        True
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


_COPIED_BYTES = 1 << 22


class OperandReader:
    """Reads operands from the bytes of a pickle onto a stack.

    What leaves the bytes raises IndexError or ValueError; a string beyond
    :mod:`nht_theory.checkpoints.mapped_file` is passed over.

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
        window = bytes(self._data[self._at : self._at + mapped_file.PICKLE_TEXT_BYTES])
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
        if end - start > mapped_file.PICKLE_TEXT_BYTES:
            return Skipped("text", end - start)
        return str(self._data[start:end], "utf-8", "surrogatepass")

    def _bytes(self, count: int) -> None:
        raw = self._take(count)
        long = count > mapped_file.PICKLE_TEXT_BYTES
        self._push(Skipped("bytes", count) if long else bytes(raw))

    def _old_string(self, count: int) -> None:
        raw = self._take(count)
        long = count > mapped_file.PICKLE_TEXT_BYTES
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


_STOP, _BINPUT, _BINGET, _BININT1, _MARK = b".qhK("
_TEXT, _BININT2, _BININT, _TUPLE, _REDUCE, _TUPLE_2, _FALSE = b"XMJtR\x86\x89"
_LENGTH, _SIGNED = struct.Struct("<I").unpack_from, struct.Struct("<i").unpack_from

Reduce = Callable[[Symbol, tuple[Any, ...]], Any]
"""Value of a known call, or NotImplemented."""
Persistent = Callable[[Any], Any]
Check = Callable[[Symbol], None]


class PickleMachine(OperandReader):
    """Interprets one pickle.

    Args:
        data: the bytes, from the pickle's first instruction on.
        source: the file, for messages.
        reduce: gives the value of the calls it knows.
        persistent: gives the value of a persistent identifier.
        check: called with each symbol as it is named; raises to refuse the file.
    """

    def __init__(
        self,
        data: memoryview,
        *,
        source: object,
        reduce: Reduce,
        persistent: Persistent,
        check: Check,
    ) -> None:
        super().__init__(data)
        self._source = source
        self._reduce = reduce
        self._persistent = persistent
        self._check = check
        self._memo: dict[int, Any] = {}
        self._marks: list[int] = []

    def run(self) -> tuple[Any, int]:
        """The object, and the number of bytes its pickle takes.

        Raises:
            InputError: the bytes are no complete pickle.
            UnsafeFileError: it is longer than any checkpoint needs, or ``check`` refused it.
        """
        with gc_disabled():  # it would take nine tenths of the time
            return self._interpret()

    # A method for each instruction would take twice as long.
    def _interpret(self) -> tuple[Any, int]:  # noqa: PLR0912, PLR0915
        handlers, data, stack = self._HANDLERS, self._data, self._stack
        memo, marks = self._memo, self._marks
        try:
            at = self._at
            for _ in range(mapped_file.PICKLE_INSTRUCTIONS):
                code = data[at]
                # The most frequent instructions are spelled out: most of a checkpoint is them.
                if code == _BINPUT:
                    memo[data[at + 1]] = stack[-1]
                    at += 2
                elif code == _BINGET:
                    stack.append(memo[data[at + 1]])
                    at += 2
                elif code == _BININT1:
                    stack.append(data[at + 1])
                    at += 2
                elif code == _TEXT:
                    start = at + 5
                    at = start + _LENGTH(data, start - 4)[0]
                    stack.append(self._as_text(start, at))
                elif code == _MARK:
                    marks.append(len(stack))
                    at += 1
                elif code == _TUPLE_2:
                    second = stack.pop()
                    stack[-1] = (stack[-1], second)
                    at += 1
                elif code == _REDUCE:
                    self._reduce_call()
                    at += 1
                elif code == _TUPLE:
                    stack.append(tuple(self._pop_mark()))
                    at += 1
                elif code == _BININT2:
                    stack.append(data[at + 1] | data[at + 2] << 8)
                    at += 3
                elif code == _BININT:
                    stack.append(_SIGNED(data, at + 1)[0])
                    at += 5
                elif code == _FALSE:
                    stack.append(False)
                    at += 1
                elif code == _STOP:
                    return stack.pop(), at + 1
                else:
                    self._at = at + 1
                    handlers[code](self)
                    at = self._at
        except InputError:
            raise
        except (IndexError, KeyError, TypeError, ValueError, struct.error, AttributeError) as error:
            raise InputError(
                f"not a readable pickle (at byte {self._at} of {len(data)})",
                source=self._source,
                remedy="the file is truncated or damaged; save or copy it again",
            ) from error
        raise UnsafeFileError(
            f"a pickle of more than {mapped_file.PICKLE_INSTRUCTIONS} instructions",
            source=self._source,
            remedy="save the weights as safetensors",
        )

    # Containers.

    def _pop_mark(self) -> list[Any]:
        stack, place = self._stack, self._marks.pop()
        if place > len(stack):
            raise ValueError("stack underflow")
        items = stack[place:]
        del stack[place:]
        return items

    def _tuple(self, count: int) -> None:
        stack = self._stack
        if len(stack) < count:
            raise ValueError("stack underflow")
        stack[-count:] = [tuple(stack[-count:])]

    def _set_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if isinstance(target, OpaqueObject):
            target = target.entries
        if not isinstance(target, dict) or len(items) % 2:
            raise ValueError("items set on no mapping")
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[plain_key(key)] = value

    def _append_items(self, items: list[Any]) -> None:
        target = self._stack[-1]
        if isinstance(target, OpaqueObject):
            target.members.extend(items)
        elif isinstance(target, list):
            target.extend(items)
        else:
            raise ValueError("items appended to no list")

    def _dict(self) -> None:
        items = self._pop_mark()
        self._push({})
        self._set_items(items)

    def _set_item(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._set_items([key, value])

    # Symbols and calls.

    def _symbol(self, module: Any, name: Any) -> Symbol:
        if not isinstance(module, str) or not isinstance(name, str):
            raise ValueError("a global without a name")
        symbol = Symbol(module, name)
        self._check(symbol)
        return symbol

    def _stack_global(self) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        self._push(self._symbol(module, name))

    def _global_line(self) -> None:
        self._push(self._symbol(self._line(), self._line()))

    def _call(self, callee: Any, arguments: Any) -> None:
        if not isinstance(arguments, tuple):
            arguments = tuple(arguments) if isinstance(arguments, list) else (arguments,)
        if isinstance(callee, Symbol):
            value = self._reduce(callee, arguments)
            self._push(OpaqueObject(callee, arguments) if value is NotImplemented else value)
        else:
            self._push(OpaqueObject(None, (callee, *arguments)))

    def _reduce_call(self) -> None:
        arguments, callee = self._stack.pop(), self._stack.pop()
        self._call(callee, arguments)

    def _new_object_keywords(self) -> None:
        keywords, arguments, callee = self._stack.pop(), self._stack.pop(), self._stack.pop()
        self._call(callee, (*arguments, keywords) if isinstance(arguments, tuple) else ())

    def _object(self) -> None:
        items = self._pop_mark()
        self._call(items[0], tuple(items[1:]))

    def _instance(self) -> None:
        symbol = self._symbol(self._line(), self._line())
        self._call(symbol, tuple(self._pop_mark()))

    def _build(self) -> None:
        state = self._stack.pop()
        target = self._stack[-1]
        # The attributes of a plain container (``_metadata`` of a state dictionary) hold no weight.
        if isinstance(target, OpaqueObject):
            target.state = state

    def _extension(self, width: int) -> None:
        code = self._number(width)
        self._push(self._symbol("copyreg extension registry", str(code)))

    # Memory.

    def _put(self, index: int) -> None:
        if not 0 <= index < 1 << 32:  # larger ones can be chosen to have one hash
            raise ValueError("no index of the memo")
        self._memo[index] = self._stack[-1]

    def _memoize(self) -> None:
        self._memo[len(self._memo)] = self._stack[-1]

    def _pop(self) -> None:
        if self._marks and self._marks[-1] == len(self._stack):
            self._marks.pop()
        else:
            self._stack.pop()

    def _drop_to_mark(self) -> None:
        self._pop_mark()

    def _skip(self, count: int) -> None:
        self._take(count)

    def _no_buffer(self) -> None:
        raise ValueError("an out-of-band buffer")

    _HANDLERS: ClassVar[dict[int, Callable[[PickleMachine], None]]] = {
        ord("0"): _pop,
        ord("1"): _drop_to_mark,
        ord("2"): lambda m: m._stack.append(m._stack[-1]),
        ord("F"): OperandReader._float_line,
        ord("G"): lambda m: m._stack.append(struct.unpack(">d", m._take(8))[0]),
        ord("I"): OperandReader._int_line,
        ord("L"): OperandReader._long_line,
        0x8A: lambda m: m._integer(m._number(1)),
        0x8B: lambda m: m._integer(m._number(4)),
        ord("N"): lambda m: m._stack.append(None),
        0x88: lambda m: m._stack.append(True),
        ord("S"): OperandReader._string_line,
        ord("T"): lambda m: m._old_string(m._number(4)),
        ord("U"): lambda m: m._old_string(m._number(1)),
        ord("V"): OperandReader._unicode_line,
        0x8C: lambda m: m._text(m._number(1)),
        0x8D: lambda m: m._text(m._number(8)),
        ord("B"): lambda m: m._bytes(m._number(4)),
        ord("C"): lambda m: m._bytes(m._number(1)),
        0x8E: lambda m: m._bytes(m._number(8)),
        0x96: lambda m: m._bytes(m._number(8)),
        ord("]"): lambda m: m._stack.append([]),
        ord("}"): lambda m: m._stack.append({}),
        0x8F: lambda m: m._stack.append([]),  # a set is kept as a list: nothing is hashed
        ord("l"): lambda m: m._stack.append(m._pop_mark()),
        ord("d"): _dict,
        0x85: lambda m: m._tuple(1),
        0x87: lambda m: m._tuple(3),
        ord("a"): lambda m: m._append_items([m._stack.pop()]),
        ord("e"): lambda m: m._append_items(m._pop_mark()),
        0x90: lambda m: m._append_items(m._pop_mark()),
        0x91: lambda m: m._stack.append(m._pop_mark()),
        ord("s"): _set_item,
        ord("u"): lambda m: m._set_items(m._pop_mark()),
        ord("Q"): lambda m: m._stack.append(m._persistent(m._stack.pop())),
        ord(")"): lambda m: m._stack.append(()),
        ord("c"): _global_line,
        0x93: _stack_global,
        0x81: _reduce_call,
        0x92: _new_object_keywords,
        ord("o"): _object,
        ord("i"): _instance,
        ord("b"): _build,
        0x82: lambda m: m._extension(1),
        0x83: lambda m: m._extension(2),
        0x84: lambda m: m._extension(4),
        ord("P"): lambda m: m._stack.append(m._persistent(m._line())),
        ord("p"): lambda m: m._put(m._bounded_int(m._line())),
        ord("r"): lambda m: m._put(m._number(4)),
        0x94: _memoize,
        ord("g"): lambda m: m._stack.append(m._memo[m._bounded_int(m._line())]),
        ord("j"): lambda m: m._stack.append(m._memo[m._number(4)]),
        0x80: lambda m: m._skip(1),
        0x95: lambda m: m._skip(8),
        0x97: _no_buffer,
        0x98: _no_buffer,
    }
