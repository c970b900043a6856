// SPDX-License-Identifier: Apache-2.0
//
// Reads arbitrary bytes as a checkpoint: unchanged, and with matching sizes and checksum. If
// decode() accepts them, encode() must write a file that reads the same.
#include <cstring>

#include "harness/checkpoint/checkpoint.h"
#include "kernels/base/error.h"
#include "kernels/base/random.h"

namespace regatta::checkpoint {
namespace {

constexpr std::size_t kWordBytes = 8;
constexpr std::size_t kPrologueBytes = 4 * kWordBytes;

std::vector<char> bytes_of_file(const Checkpoint& checkpoint) {
  std::vector<char> bytes;
  encode(checkpoint,
         [&](std::span<const char> part) { bytes.insert(bytes.end(), part.begin(), part.end()); });
  return bytes;
}

void read(std::vector<char> file) {
  Checkpoint checkpoint;
  try {
    checkpoint = decode(std::move(file), "FILE");
  } catch (const RunError& error) {
    check(error.kind() == ErrorKind::Data, "a checkpoint is refused for its data");
    return;
  }
  const Positions positions = positions_of(checkpoint);
  check(positions.loops.size() <= checkpoint.report.loops.size(), "a loop has one position");
  const std::vector<char> again = bytes_of_file(checkpoint);
  check(bytes_of_file(decode(again, "FILE")) == again, "a checkpoint is read as it was written");
}

std::uint64_t word_at(const std::vector<char>& file, std::size_t begin) {
  std::uint64_t word = 0;
  std::memcpy(&word, &file[begin], kWordBytes);
  return word;
}

void put_word(std::uint64_t word, std::size_t begin, std::vector<char>& file) {
  std::memcpy(&file[begin], &word, kWordBytes);
}

/// The file with this program's magic and format, a header that fills the room left by the payload,
/// and a correct checksum.
std::vector<char> sealed(std::vector<char> file) {
  static const std::vector<char> kBeginning = bytes_of_file({});
  std::memcpy(file.data(), kBeginning.data(), 2 * kWordBytes);
  const std::uint64_t room = file.size() - kPrologueBytes - kWordBytes;
  const std::uint64_t payload = std::min(word_at(file, 3 * kWordBytes), room);
  put_word(room - payload, 2 * kWordBytes, file);
  put_word(payload, 3 * kWordBytes, file);
  const std::size_t end = file.size() - kWordBytes;
  put_word(fnv1a(file.data(), end), end, file);
  return file;
}

}  // namespace
}  // namespace regatta::checkpoint

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> file(data, data + size);
  regatta::checkpoint::read(file);
  if (size >= regatta::checkpoint::kPrologueBytes + regatta::checkpoint::kWordBytes)
    regatta::checkpoint::read(regatta::checkpoint::sealed(file));
  return 0;
}
