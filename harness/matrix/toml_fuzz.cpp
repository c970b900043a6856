// SPDX-License-Identifier: Apache-2.0
//
// Parses arbitrary bytes as a matrix file. If parse_matrix() accepts them, a file with one block
// for each cell of the plan must give the same plan.
#include <fmt/format.h>

#include <algorithm>

#include "harness/matrix/matrix_plan.h"
#include "kernels/base/error.h"

namespace regatta::matrix {
namespace {

/// Quotes a basic string of TOML. The result is hardly longer than the text, because parse_matrix()
/// limits the length of a line.
std::string quoted(const std::string& text) {
  constexpr std::string_view kEscaped = "\b\t\n\f\r\"\\", kEscapes = "btnfr\"\\";
  std::string result = "\"";
  for (char c : text) {
    const std::size_t found = kEscaped.find(c);
    const auto code = static_cast<unsigned char>(c);
    if (found != kEscaped.npos) {
      result += {'\\', kEscapes[found]};
    } else {
      result += code < 0x20 || code == 0x7F ? fmt::format("\\u{:04X}", code) : std::string(1, c);
    }
  }
  return result + '"';
}

std::string text_of(const MatrixPlan& plan) {
  std::string text = fmt::format("seeds = [\n{}]\n", fmt::join(plan.seeds, ",\n"));
  for (const MatrixCell& cell : plan.cells) {
    check(cell.arguments.size() % 2 == 0, "each flag of a cell has a value");
    text += "[[race]]\n";
    for (std::size_t i = 0; i < cell.arguments.size(); i += 2) {
      std::string key = cell.arguments[i].substr(2);
      std::replace(key.begin(), key.end(), '-', '_');
      text += fmt::format("{} = {}\n", key, quoted(cell.arguments[i + 1]));
    }
  }
  return text;
}

void read(const std::string& text) {
  MatrixPlan plan;
  try {
    plan = parse_matrix(text, "FILE");
  } catch (const RunError& error) {
    check(error.kind() == ErrorKind::Usage, "what is wrong with a matrix is its author's");
    return;
  }
  const MatrixPlan again = parse_matrix(text_of(plan), "AGAIN");
  check(again.seeds == plan.seeds, "the seeds are read as they were written");
  check(again.cells == plan.cells, "the cells are read as they were written");
}

}  // namespace
}  // namespace regatta::matrix

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  regatta::matrix::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
