# SPDX-License-Identifier: Apache-2.0
"""The record that the harness writes, the records of results/, and results/schema.json.

usage: schema_test.py SCHEMA PROGRAM, where PROGRAM prints sample records, the first one filled.
Committed records are the compressed ones below the schema's folder.
Exits 77 (skipped) where python3-jsonschema is not installed.
"""

import copy
import gzip
import json
import re
import subprocess
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed")
    sys.exit(77)

SCHEMA: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
PRINTED = subprocess.run(sys.argv[2], check=True, capture_output=True, text=True).stdout
RECORDS: list[dict[str, Any]] = [json.loads(line) for line in PRINTED.splitlines()]
FILLED = RECORDS[0]
VERSION: int = FILLED["schema"]
LATER = [f"since_{version}" for version in range(2, VERSION + 1)]  # required in addition
FREE = (("environment",), ("cell", "options"), ("program", "versions"), ("program", "notes"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def errors(record: dict[str, Any]) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(record)]


def committed() -> Iterator[tuple[str, dict[str, Any]]]:
    """Records of results/ with their places: of each file the first ten, then every tenth."""
    folder = Path(sys.argv[1]).parent
    for path in sorted(folder.rglob("*.jsonl.gz")):
        for number, line in enumerate(gzip.decompress(path.read_bytes()).splitlines(), 1):
            if number <= 10 or number % 10 == 0:
                yield f"{path}:{number}", json.loads(line)


def whole(schema: dict[str, Any]) -> dict[str, Any]:
    """Resolves the schema's reference, whether it stands alone or beside null."""
    for part in (schema, *schema.get("anyOf", ())):
        if "$ref" in part:
            return SCHEMA["$defs"][part["$ref"].removeprefix("#/$defs/")] | schema
    return schema


def schema_fields(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Every property the schema defines, as a path; array elements as []."""
    for name, inner in whole(schema).get("properties", {}).items():
        yield f"{path}.{name}"
        yield from schema_fields(inner, f"{path}.{name}")
    if "items" in schema:
        yield from schema_fields(schema["items"], f"{path}[]")


def record_fields(value: Any, path: str = "") -> Iterator[str]:
    """Every field of a record, as such paths."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"{path}.{name}"
            yield from record_fields(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from record_fields(inner, f"{path}[]")


def required_later(path: str, schema: dict[str, Any]) -> Iterator[str]:
    """The fields below `path` that versions after the first require."""
    if path == "":
        yield from schema.get("required", ())
        return
    name = re.match(r"\.?([^.\[]+|\[\])", path)
    assert name is not None, path
    inner = (schema.get("items", {}) if name[1] == "[]"
             else schema.get("properties", {}).get(name[1], {}))
    yield from required_later(path.removeprefix(name[0]), inner)


def left_behind(schema: Any, path: str = "") -> Iterator[str]:
    """The fields, as paths, that versions after the first no longer have."""
    if schema is False:
        yield path
    elif isinstance(schema, dict):
        for name, inner in schema.get("properties", {}).items():
            yield from left_behind(inner, f"{path}.{name}")
        yield from left_behind(schema.get("items"), f"{path}[]")


GONE = {path for name in LATER for path in left_behind(SCHEMA["$defs"][name])}


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of each field of each object in a record, except in parts of free form."""
    if isinstance(value, dict) and path not in FREE:
        for name, inner in value.items():
            yield (*path, name)
            yield from places(inner, (*path, name))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*path, 0))


def subschemas(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    schema = whole(schema)
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from subschemas(inner, f"{path}.{name}")
    if "items" in schema:
        yield from subschemas(schema["items"], f"{path}[]")


class Schema(unittest.TestCase):
    def test_is_itself_valid(self) -> None:
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_is_what_the_declarations_generate(self) -> None:
        generated = subprocess.run((sys.argv[2], "schema"), check=True, capture_output=True,
                                   text=True).stdout
        self.assertEqual(Path(sys.argv[1]).read_text(), generated,
                         f"fix: {sys.argv[2]} schema > {sys.argv[1]}")

    def test_accepts_every_sample(self) -> None:
        self.assertEqual(len(RECORDS), 2)
        for record in RECORDS:
            self.assertEqual(errors(record), [], record["run_id"])

    def test_defines_the_fields_that_records_have(self) -> None:
        # The filled record leaves out only the fields of a failure and those of free form.
        written = {*record_fields(FILLED), *record_fields(RECORDS[1])}
        free = tuple(f".{'.'.join(path)}." for path in FREE)
        written = {field for field in written if not field.startswith(free)}
        self.assertEqual(written, set(schema_fields(SCHEMA)) - GONE)

    def test_describes_every_field(self) -> None:
        for path, schema in subschemas(SCHEMA):
            self.assertIn("description", schema, path)

    def test_names_the_unit_of_every_time_size_and_rate(self) -> None:
        units = {"_ns": "nanoseconds", "_bytes": "bytes", "examples": "examples",
                 "examples_per_s": "examples per second", "bytes_per_s": "bytes per second"}
        for path, schema in subschemas(SCHEMA):
            for ending, unit in units.items():
                if path.endswith(ending):
                    self.assertIn(f"Units: {unit}.", schema["description"], path)

    def test_leaves_no_object_open(self) -> None:
        for path, schema in subschemas(SCHEMA):
            if "properties" in schema:
                self.assertIs(schema["additionalProperties"], False, path)
                required = [*schema["required"]]
                for name in LATER:
                    required += required_later(path, SCHEMA["$defs"][name])
                fields = [name for name in schema["properties"] if f"{path}.{name}" not in GONE]
                self.assertEqual(sorted(required), sorted(fields), path)

    def refuses(self, *path: str | int, value: Any) -> None:
        record = copy.deepcopy(FILLED)
        place: Any = record
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
        self.assertNotEqual(errors(record), [], path)

    def test_refuses_what_is_wrong(self) -> None:
        self.refuses("schema", value=VERSION + 1)
        self.refuses("schema", value=0)
        self.refuses("surprise", value=1)
        self.refuses("cell", "surprise", value=1)
        self.refuses("cell", "options", value={"servers": [1]})
        self.refuses("cell", "device", value="tpu")
        self.refuses("cell", "workers", value=0)
        self.refuses("workers", 0, "compute_ns", value=1.5)
        self.refuses("workers", 0, "wait_ns", value=-1)
        self.refuses("checksums", "data_order", value="0x12")
        self.refuses("timestamp", value="31.1.2025")
        self.refuses("environment", value={"OMP_NUM_THREADS": 1})
        self.refuses("examples_per_s", value=None)

    def test_refuses_a_missing_field(self) -> None:
        tried = list(places(FILLED))
        self.assertGreater(len(tried), 120)
        for path in tried:
            record = copy.deepcopy(FILLED)
            part: Any = record
            for key in path[:-1]:
                part = part[key]
            del part[path[-1]]
            self.assertNotEqual(errors(record), [], path)

    def test_accepts_committed_records(self) -> None:
        count = 0
        for count, (where, record) in enumerate(committed(), 1):
            self.assertEqual(errors(record), [], where)
        self.assertGreater(count, 500)

    def test_asks_more_of_a_later_version(self) -> None:
        older = next(record for _, record in committed() if record["schema"] == 1)
        self.assertEqual(errors(older), [])
        self.assertNotEqual(errors(older | {"schema": VERSION}), [])
        for path in GONE:
            _, part, name = path.split(".")
            record = copy.deepcopy(FILLED)
            record[part][name] = older[part].get(name)
            self.assertNotEqual(errors(record), [], path)
            self.assertEqual(errors(record | {"schema": 1}), [], path)

    def test_ties_times_and_failure_to_the_status(self) -> None:
        self.refuses("examples_to_target", value=None)
        self.refuses("status", value="missed")
        self.refuses("failure", value={"kind": "io", "text": "no"})
        failed = copy.deepcopy(RECORDS[1])
        failed["failure"] = None
        self.assertNotEqual(errors(failed), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
