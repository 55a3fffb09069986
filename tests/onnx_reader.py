"""Tensors and attributes out of the files of ONNX node tests, without the onnx package.

Protocol Buffers, wire format: a message is a row of fields, each a number and a value. The numbers
are those of onnx.proto in ONNX 1.22.0.
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# TensorProto.DataType
DTYPES = {1: "<f4", 7: "<i8", 9: "?", 10: "<f2"}
# AttributeProto.AttributeType
FLOAT, INT = 1, 2


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Return numbers and values of all fields: an int, a float, or the bytes of a message."""
    at = 0
    while at < len(message):
        key, at = varint(message, at)
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            value, at = varint(message, at)
            yield number, value
        elif wire_type == 2:
            length, at = varint(message, at)
            yield number, message[at : at + length]
            at += length
        elif wire_type == 5:
            yield number, struct.unpack_from("<f", message, at)[0]
            at += 4
        else:
            msg = f"wire type must be 0, 2 or 5, got {wire_type}"
            raise ValueError(msg)


def varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the integer that begins there, seven bits a byte, and where the next field begins."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def all_of(message: bytes, number: int) -> list[Any]:
    return [value for n, value in fields(message) if n == number]


def one_of(message: bytes, number: int) -> Any:
    (value,) = all_of(message, number)
    return value


def tensor(path: Path) -> NDArray[Any]:
    """Return a TensorProto: dims (1), data_type (2) and raw_data (9)."""
    message = path.read_bytes()
    dtype = np.dtype(DTYPES[one_of(message, 2)])
    return np.frombuffer(one_of(message, 9), dtype).reshape(all_of(message, 1))


def tensors(folder: Path, kind: str) -> list[NDArray[Any]]:
    """Return all inputs, or all outputs, of a node test in their order."""
    count = len(list(folder.glob(f"test_data_set_0/{kind}_*.pb")))
    return [tensor(folder / "test_data_set_0" / f"{kind}_{i}.pb") for i in range(count)]


def node(folder: Path) -> bytes:
    """Return the node (1) of the graph (7) of a model."""
    message: bytes = one_of(one_of((folder / "model.onnx").read_bytes(), 7), 1)
    return message


def named_tensors(folder: Path, kind: str) -> dict[str, NDArray[Any]]:
    """Return inputs (1) or outputs (2) by name; the name of one that is left out is empty."""
    names = [name.decode() for name in all_of(node(folder), {"input": 1, "output": 2}[kind])]
    return dict(zip(filter(None, names), tensors(folder, kind), strict=True))


def attributes(folder: Path) -> dict[str, Any]:
    """Return names (1) and values, floats (2) or integers (3) by their type (20), of all (5)."""
    values = {}
    for message in all_of(node(folder), 5):
        name, kind = one_of(message, 1).decode(), one_of(message, 20)
        value = one_of(message, {FLOAT: 2, INT: 3}[kind])
        if kind == INT and value >= 2**63:  # two's complement
            value -= 2**64
        values[name] = value
    return values
