# SPDX-License-Identifier: Apache-2.0
"""Tests that the checks in this folder find violations."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from check_includes import check_text, refusal, strategies, strays, twins
from check_tests_built import unbuilt
from check_words import found


CTEST_LOG = """1/3 Test: rewrite_test
[ RUN      ] All/Sums.Agree/0
/x/sums_test.cpp:67: Skipped
this processor has no AMX

[  SKIPPED ] All/Sums.Agree/0, where GetParam() = 4 (0 ms)
[  SKIPPED ] Sums.Add (0 ms)
[  SKIPPED ] Sums.Add
2/3 Test: bad_input_test
test_of_a_disk (__main__.Disks.test_of_a_disk) ... skipped 'no root'
3/3 Test: slurm_test
skipped: slurmd is not installed
"""


class Packages(unittest.TestCase):
    def test_that_cmake_names_are_installed(self) -> None:
        folder = Path(__file__).parent
        named = re.findall(r' PACKAGE "([a-z]\S*)"', (folder / "libraries.cmake").read_text())
        self.assertIn("libdnnl-dev", named)
        self.assertLessEqual(set(named), set((folder / "packages.sh").read_text().split()))


class Skips(unittest.TestCase):
    def test_are_told_with_their_reasons(self) -> None:
        with tempfile.NamedTemporaryFile("w") as log:
            log.write(CTEST_LOG)
            log.flush()
            told = subprocess.run([Path(__file__).parent / "skipped", log.name], check=True,
                                  capture_output=True, text=True).stdout
        self.assertEqual(told, "bad_input_test test_of_a_disk: 'no root'\n"
                               "rewrite_test All/Sums.Agree/0 and more: this processor has no "
                               "AMX\nslurm_test: slurmd is not installed\n")


class Twins(unittest.TestCase):
    def test_of_one_name_are_in_one_header_of_a_namespace(self) -> None:
        one = ("namespace regatta {\ninline constexpr std::string_view kCuda = \"cuda\";\n"
               "class Account final : public Log {\n")
        for other, count in (("inline constexpr char kCuda[] = \"13.0\";\n", 1),
                             ("inline constexpr std::array<int, 2> kCuda{1, 2};\n", 1),
                             ("inline constexpr int kCudaPitch = 4;\n", 0),
                             ("constexpr int kCuda = 4;\n", 0),
                             ("struct Account {\n", 1), ("enum class Account : int {};\n", 1),
                             ("class Account;\n", 0), ("  struct Account {\n", 0),
                             ("namespace regatta::cpu {\ninline constexpr int kCuda = 1;\n", 0)):
            problems = twins({"a.h": one + one, "b.h": "namespace regatta {\n" + other})
            self.assertEqual(len(problems), count, other)
        self.assertIn("b.h: regatta::kCuda: a.h has it, too",
                      twins({"a.h": one, "b.h": one}))

    def test_stand_in_the_namespace_of_their_room(self) -> None:
        block = "namespace {0} {{\n{1}}}  // namespace {0}\n"
        for path, name, body, count in (
                ("harness/judge/a.h", "regatta::judge", "int a;\n", 0),
                ("harness/judge/a.h", "regatta::judge::json", "int a;\n", 0),
                ("harness/judge/a.h", "regatta", "int a;\n", 1),
                ("harness/judge/a.cpp", "regatta", "int a;\n", 0),
                ("harness/judge/a.cpp", "regatta::plan", "int a;\n", 1),
                ("harness/judge/a.h", "regatta", "class Graph;\n", 0),
                ("harness/export/a.h", "regatta::exports", "int a;\n", 0),
                ("kernels/graph/a.h", "regatta", "int a;\n", 0),
                ("kernels/cpu/a.h", "regatta::cuda", "int a;\n", 1),
                ("kernels/cpu/a.h", "regatta::cpu::test", "int a;\n", 0)):
            self.assertEqual(len(strays(path, block.format(name, body))), count, (path, name))


class Words(unittest.TestCase):
    def test_are_counted_in_prose_only(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name, text, count in (
                    ("a.cpp", "// SPDX-License-Identifier: Apache-2.0\n//\n// Of a rank.\n", 1),
                    ("a.cpp", "/// Returns what it has. As above.\nint what;\n", 2),
                    ("a.cpp", "int a = f(\"// Of what\");  ///< the sum, by rank\n", 0),
                    ("a.py", '"""By rank."""\nwhat = "Of it"  # what it is\n', 2),
                    ("a.md", "# A page\n\n`what` it does.\n\n```\nOf code\n```\nNothing.\n", 1)):
                path = Path(folder) / name
                path.write_text(text)
                self.assertEqual(len(list(found(path))), count, text)


class Includes(unittest.TestCase):
    def test_follow_the_table(self) -> None:
        self.assertEqual(refusal("strategies/single.cpp", "kernels/graph/graph.h", True), "")
        self.assertEqual(refusal("kernels/cpu/a.cpp", "oneapi/dnnl/dnnl.hpp", False), "")
        self.assertEqual(refusal("kernels/graph/a.h", "vector", False), "")
        self.assertEqual(refusal("harness/record/record_writer.cpp", "sys/file.h", False), "")

    def test_are_refused_outside_it(self) -> None:
        for path, header, quoted in (
                ("strategies/single.cpp", "kernels/runtime/plan.h", True),
                ("kernels/graph/a.h", "kernels/runtime/plan.h", True),
                ("kernels/graph/a.h", "fmt/format.h", False),
                ("workloads/a.cpp", "harness/record/record.h", True),
                ("harness/a.cpp", "oneapi/dnnl/dnnl.hpp", False),
                ("harness/a.cpp", "kernels/cpu/table.h", True),
                ("harness/plan/a.cpp", "harness/run/trainer.h", True),
                ("harness/judge/a.cpp", "harness/ranks/rank.h", True),
                ("harness/ranks/a.cpp", "harness/race/race.h", True),
                ("kernels/cpu/a.cpp", "neighbour.h", True),
                ("kernels/cpu/a.cpp", "kernels/cpu/built_op_for_test.h", True),
                ("strategies/a.h", "strategies/test_support.h", True),
                ("kernels/new/a.cpp", "vector", False)):
            self.assertNotEqual(refusal(path, header, quoted), "", (path, header))

    def test_are_found_with_their_lines(self) -> None:
        text = '#include <vector>\n  #  include "harness/record/record.h"\n'
        (problem,) = check_text("workloads/a.cpp", text, [])
        self.assertTrue(
            problem.startswith('workloads/a.cpp:2: #  include "harness/record/record.h": '))

    def test_are_free_in_tests(self) -> None:
        text = '#include <gtest/gtest.h>\n#include "harness/record/record.h"\n'
        self.assertEqual(check_text("workloads/a_test.cpp", text, []), [])
        self.assertNotEqual(check_text("workloads/a_tester.cpp", text, []), [])


class Names(unittest.TestCase):
    def test_are_those_of_the_table(self) -> None:
        names = strategies(Path(__file__).resolve().parent.parent)
        self.assertLessEqual({"all_reduce", "parameter_server_async", "model_parallel"}, set(names))
        self.assertNotIn("single", names)

    def test_decide_nothing_outside_their_folder(self) -> None:
        line = '  if (cell.strategy == "all_reduce") return;\n'
        (problem,) = check_text("harness/plan/a.cpp", line, ["in_graph", "all_reduce"])
        self.assertIn("ask the placed graph", problem)
        for path in ("strategies/a.cpp", "harness/judge/claims_of_bytes.cpp", "harness/a_test.cpp"):
            self.assertEqual(check_text(path, line, ["all_reduce"]), [], path)

    def test_of_devices_decide_where_a_backend_is_made(self) -> None:
        line = '  if (request.device != "cuda") return;\n'
        (problem,) = check_text("harness/race/race.cpp", line, [])
        self.assertIn("a device's name", problem)
        self.assertEqual(check_text("harness/run/backend.cpp", line, []), [])


class Built(unittest.TestCase):
    def test_files_are_named_by_the_listing_above_them(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            root = Path(name)
            (root / "harness/ops").mkdir(parents=True)
            for file in ("a_test.cpp", "ops/b_test.cpp", "test.cpp", "noted_test.cpp", "c_test.py",
                         "d_test.py", "test.py", "helper.py"):
                (root / "harness" / file).touch()
            (root / "harness/CMakeLists.txt").write_text(
                "t(SOURCES a_test.cpp\n ops/b_test.cpp)  # noted_test.cpp\np(c_test cpu)\n")
            self.assertEqual(unbuilt(root), ["harness/d_test.py", "harness/noted_test.cpp",
                                             "harness/test.cpp"])


if __name__ == "__main__":
    unittest.main()
