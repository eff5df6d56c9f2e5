"""Pickles that exhaust the reader."""

from __future__ import annotations

from attacks.registry import attack, torch_zip


@attack
def memo_index_of_two_billion(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02]r\xff\xff\xff\x7f.")


@attack
def hash_of_nested_tuples(folder, canary):
    """t = (t, t) sixty times, as the key of a dictionary: 2^60 hashes."""
    pickled = b"\x80\x02}K\x01" + b"2\x86" * 60 + b"K\x01s."
    return torch_zip(folder / "a.pt", pickled)


def _integers_of_one_hash(count):
    """Integers modulo 2^61 - 1 are hashed: its multiples all share the hash 0."""
    return [(2**61 - 1) * (1 + i) for i in range(count)]


@attack
def integer_keys_of_one_hash(folder, canary):
    """A dictionary of them would compare each with all before it."""
    keys = _integers_of_one_hash(60_000)
    items = b"".join(b"\x8a\x0a" + key.to_bytes(10, "little", signed=True) + b"N" for key in keys)
    return torch_zip(folder / "a.pt", b"\x80\x02}(" + items + b"u.")


@attack
def tuple_keys_of_one_hash(folder, canary):
    keys = _integers_of_one_hash(60_000)
    items = b"".join(
        b"\x8a\x0a" + key.to_bytes(10, "little", signed=True) + b"\x85N" for key in keys
    )
    return torch_zip(folder / "a.pt", b"\x80\x02}(" + items + b"u.")


@attack
def memo_indices_of_one_hash(folder, canary):
    lines = "".join(f"p{index}\n" for index in _integers_of_one_hash(60_000))
    return torch_zip(folder / "a.pt", b"\x80\x02N" + lines.encode() + b".")


@attack
def shared_lists_sixty_deep(folder, canary):
    """A tree of 2^60 paths in 200 bytes."""
    return torch_zip(folder / "a.pt", b"\x80\x02" + b"]" + b"q\x00]h\x00ah\x00a" * 60 + b".")


@attack
def list_that_holds_itself(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02]q\x00h\x00a.")


@attack
def endless_instructions(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02" + b"]" * 5_000_000 + b".")


@attack
def a_million_deep(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02N" + b"\x85" * 1_000_000 + b".")


@attack
def marks_without_end(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02" + b"(" * 2_000_000)


@attack
def quadratic_marks(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02" + b"N" * 400_000 + b"(1" * 400_000 + b".")


@attack
def duplicated_keys(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02}(" + b"K\x01K\x02" * 400_000 + b"u.")


@attack
def announced_string_of_4_gb(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02X\xff\xff\xff\xff.")


@attack
def announced_string_of_16_eb(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff.")


@attack
def integer_of_a_million_digits(folder, canary):
    return torch_zip(folder / "a.pt", b"I" + b"9" * 1_000_000 + b"\n.")


@attack
def long_integer(folder, canary):
    return torch_zip(folder / "a.pt", b"\x80\x02\x8b\x00\x00\x10\x00" + b"\x7f" * 0x100000 + b".")
