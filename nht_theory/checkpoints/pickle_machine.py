"""A pickle read as data: every instruction is interpreted, none is carried out.

Python's own unpickler imports what a file names and calls it. This one builds symbols instead:
``GLOBAL`` gives a :class:`Symbol`, calling it gives an :class:`OpaqueObject` that remembers the
arguments, and a caller may turn the few calls it knows into values. Nothing is imported, hashed,
compared or called on behalf of the file, so an object of an unknown class costs nothing and a
malicious one is inert.

Instruction set: ``pickletools`` of the Python standard library, protocols 0 to 5.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, ClassVar

from nht_theory.checkpoints import limits
from nht_theory.checkpoints.collection import gc_disabled
from nht_theory.checkpoints.pickle_operands import OperandReader
from nht_theory.checkpoints.pickle_values import OpaqueObject, Symbol, plain_key
from nht_theory.errors import InputError, UnsafeFileError

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
            for _ in range(limits.PICKLE_INSTRUCTIONS):
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
            f"a pickle of more than {limits.PICKLE_INSTRUCTIONS} instructions",
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
