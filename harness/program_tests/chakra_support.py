# SPDX-License-Identifier: Apache-2.0
"""Reads the traces of Chakra that `regatta graph --format chakra` writes, by protoc."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from test_support import skip

PROTO = Path(__file__).with_name("chakra.proto")
# The type that readers expect of each attribute: chakra's et_feeder_node.cpp.
TYPES = {"is_cpu_op": "bool_val", "num_ops": "int64_val", "tensor_size": "uint64_val",
         "comm_type": "int64_val", "comm_size": "int64_val", "comm_src": "int32_val",
         "comm_dst": "int32_val", "comm_tag": "int32_val", "pg_name": "string_val",
         "algorithm": "string_val"}
ALL_REDUCE = 0  # comm_type

if shutil.which("protoc") is None:
    skip("protoc is not installed")


class TraceNode(NamedTuple):
    id: int
    name: str
    type: str
    ctrl_deps: list[int]
    data_deps: list[int]
    duration_micros: int
    attributes: dict[str, Any]

    def is_communication(self) -> bool:
        return self.type.startswith("COMM_")


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number and the position of the next field."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, at


def as_one_message(data: bytes) -> bytes:
    """Turns messages with length prefixes into fields of chakra.proto's Trace."""
    joined = bytearray()
    at, field = 0, 1
    while at < len(data):
        length, begin = varint(data, at)
        end = begin + length
        if end > len(data):
            raise AssertionError(f"a message at {at} has {length} bytes, the file {len(data)}")
        joined += bytes([field << 3 | 2]) + data[at:end]
        at, field = end, 2
    return bytes(joined)


def parsed(lines: list[str]) -> dict[str, list[Any]]:
    """Parses the text that protoc prints; removes the lines of one message from `lines`."""
    fields: dict[str, list[Any]] = {}
    while lines and (line := lines.pop(0).strip()) != "}":
        if line.endswith("{"):
            fields.setdefault(line[:-1].strip(), []).append(parsed(lines))
        else:
            name, value = line.split(": ", 1)
            fields.setdefault(name, []).append(value.strip('"'))
    return fields


def attributes_of(node: dict[str, list[Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for attribute in node.get("attr", []):
        (name,), kinds = attribute["name"], set(attribute) - {"name"}
        if kinds != {TYPES[name]} or name in found:
            raise AssertionError(f"{name}: {attribute}")
        (value,) = attribute[TYPES[name]]
        found[name] = (value == "true" if TYPES[name] == "bool_val"
                       else value if TYPES[name] == "string_val" else int(value))
    return found


def read_trace(path: Path) -> list[TraceNode]:
    done = subprocess.run(
        ["protoc", f"--proto_path={PROTO.parent}", "--decode=chakra.Trace", PROTO.name],
        input=as_one_message(path.read_bytes()), capture_output=True, check=True)
    text = done.stdout.decode()
    if unknown := re.search(r"(?m)^\s*\d+(:| \{).*", text):
        raise AssertionError(f"{path}: a field that chakra.proto lacks: {unknown[0]}")
    trace = parsed(text.splitlines())
    if trace["metadata"] != [{"version": ["1.0.0"]}]:
        raise AssertionError(f"{path}: {trace['metadata']}")
    return [TraceNode(id=int(node["id"][0]), name=node["name"][0], type=node["type"][0],
                      ctrl_deps=[int(id) for id in node.get("ctrl_deps", [])],
                      data_deps=[int(id) for id in node.get("data_deps", [])],
                      duration_micros=int(node.get("duration_micros", [0])[0]),
                      attributes=attributes_of(node)) for node in trace["nodes"]]


def groups_in(folder: Path, processes: int) -> dict[str, list[int]]:
    """The processes of each pg_name (process group); group 0 has all."""
    file = folder / "comm_groups.json"
    named: dict[str, list[int]] = json.loads(file.read_text()) if file.exists() else {}
    return {"0": list(range(processes)), **named}
