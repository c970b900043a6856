// SPDX-License-Identifier: Apache-2.0
//
// Reads a line of arbitrary bytes: if record_from_json() accepts it, to_json_line() must write a
// line that reads the same.
#include "harness/record/record_reader.h"
#include "kernels/base/error.h"

namespace regatta::record {
namespace {

void read(std::string_view line) {
  Record record;
  try {
    record = record_from_json(line);
  } catch (const RunError& error) {
    check(error.kind() == ErrorKind::Data, "a record is refused for its data");
    return;
  }
  const std::string again = to_json_line(record);
  check(to_json_line(record_from_json(again)) == again, "a record is read as it was written");
}

}  // namespace
}  // namespace regatta::record

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  regatta::record::read({reinterpret_cast<const char*>(data), size});
  return 0;
}
