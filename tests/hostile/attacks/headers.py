"""Safetensors files with hostile headers."""

from __future__ import annotations

from attacks.registry import attack, safetensors


@attack
def header_of_100_mb(folder, canary):
    return safetensors(folder / "a.safetensors", b"{" + b" " * 100_000_000 + b"}")


@attack
def announced_header_of_an_exabyte(folder, canary):
    path = folder / "a.safetensors"
    path.write_bytes((1 << 62).to_bytes(8, "little") + b"{}")
    return path


@attack
def header_of_brackets(folder, canary):
    return safetensors(folder / "a.safetensors", b'{"a":' + b"[" * 7_000_000 + b"}")


@attack
def header_nested_deeply(folder, canary):
    return safetensors(folder / "a.safetensors", b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


@attack
def header_of_short_strings(folder, canary):
    return safetensors(folder / "a.safetensors", b'{"a":[' + b'"ab",' * 1_590_000 + b'"a"]}')


@attack
def header_of_numbers(folder, canary):
    return safetensors(folder / "a.safetensors", b'{"a":[' + b"1.1," * 1_990_000 + b"1]}")


@attack
def number_of_a_million_digits_in_a_header(folder, canary):
    header = b'{"a":{"dtype":"F32","shape":[' + b"9" * 1_000_000 + b'],"data_offsets":[0,4]}}'
    return safetensors(folder / "a.safetensors", header, b"\0" * 4)


@attack
def a_million_tensors(folder, canary):
    entry = '"%d":{"dtype":"F32","shape":[],"data_offsets":[0,0]}'
    header = "{" + ",".join(entry % i for i in range(1_000_000)) + "}"
    return safetensors(folder / "a.safetensors", header.encode())


@attack
def overlapping_tensors(folder, canary):
    header = {
        "a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]},
        "b": {"dtype": "F32", "shape": [4], "data_offsets": [8, 24]},
    }
    return safetensors(folder / "a.safetensors", header, b"\0" * 24)


@attack
def a_thousand_tensors_over_the_same_bytes(folder, canary):
    entry = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
    return safetensors(folder / "a.safetensors", {str(i): entry for i in range(1000)}, b"\0" * 16)


@attack
def hidden_bytes(folder, canary):
    header = {"a": {"dtype": "F32", "shape": [4], "data_offsets": [8, 24]}}
    return safetensors(folder / "a.safetensors", header, b"\0" * 24)


@attack
def bytes_after_the_end(folder, canary):
    header = {"a": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}
    return safetensors(folder / "a.safetensors", header, b"\0" * 1000)


@attack
def tensor_beyond_the_file(folder, canary):
    header = {"a": {"dtype": "F32", "shape": [1 << 40], "data_offsets": [0, 1 << 42]}}
    return safetensors(folder / "a.safetensors", header, b"\0" * 16)


@attack
def shape_that_does_not_fit(folder, canary):
    header = {"a": {"dtype": "F32", "shape": [1 << 60, 1 << 60], "data_offsets": [0, 16]}}
    return safetensors(folder / "a.safetensors", header, b"\0" * 16)


@attack
def negative_shape(folder, canary):
    header = {"a": {"dtype": "F32", "shape": [-2, -2], "data_offsets": [0, 16]}}
    return safetensors(folder / "a.safetensors", header, b"\0" * 16)


@attack
def offsets_that_are_true(folder, canary):
    header = {"a": {"dtype": "U8", "shape": [True], "data_offsets": [False, True]}}
    return safetensors(folder / "a.safetensors", header, b"\0")


@attack
def name_twice(folder, canary):
    entry = b'{"dtype":"F32","shape":[4],"data_offsets":[0,16]}'
    return safetensors(
        folder / "a.safetensors", b'{"a":' + entry + b',"a":' + entry + b"}", b"\0" * 16
    )


@attack
def header_that_is_no_text(folder, canary):
    return safetensors(folder / "a.safetensors", b'{"\xff\xfe": 1}')
