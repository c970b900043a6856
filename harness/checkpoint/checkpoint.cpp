// SPDX-License-Identifier: Apache-2.0
#include "harness/checkpoint/checkpoint.h"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "harness/run/merge_reports.h"
#include "harness/system/bytes.h"
#include "harness/system/run_id.h"
#include "kernels/base/error.h"
#include "kernels/base/random.h"

namespace regatta::checkpoint {
namespace {

using Bytes = std::span<const char>;

constexpr std::string_view kMagic = "RGTCKPT\n";
constexpr std::size_t kWordBytes = 8;
constexpr std::size_t kPrologueBytes = 4 * kWordBytes;

/// The word whose first byte is at `begin`.
std::uint64_t word_at(Bytes bytes, std::size_t begin) {
  std::uint64_t word = 0;
  std::memcpy(&word, &bytes[begin], kWordBytes);
  return word;
}

bool same(Bytes a, Bytes b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

/// The pieces of a payload and the position of each.
class Payload {
 public:
  Extent add(Bytes piece) {
    const Extent extent{.offset = size_, .size = piece.size()};
    pieces_.push_back(piece);
    size_ += piece.size();
    return extent;
  }
  const std::vector<Bytes>& pieces() const { return pieces_; }
  std::uint64_t size() const { return size_; }

 private:
  std::vector<Bytes> pieces_;
  std::uint64_t size_ = 0;
};

void lay_out(std::vector<SavedVariable>& variables, Payload& payload) {
  std::map<std::string, const SavedVariable*> former;  // the last variable of each name
  for (SavedVariable& variable : variables) {
    const SavedVariable*& last = former[variable.name];
    variable.extent = last != nullptr && same(last->memory, variable.memory)
                          ? last->extent
                          : payload.add(variable.memory);
    last = &variable;
  }
}

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw RunError(ErrorKind::Data,
                 "--resume " + name + ": this is " + what +
                     "; fix: give another checkpoint, or start again without --resume");
}

/// The file between its first four words and its last.
struct Sections {
  std::string_view header;
  Bytes payload;
};

Sections sections_of(Bytes file, const std::string& name) {
  if (file.size() < kMagic.size() || !same(file.first(kMagic.size()), kMagic)) {
    refuse(name, "no checkpoint of Regatta");
  }
  if (file.size() < kPrologueBytes + kWordBytes) refuse(name, "a checkpoint that is cut short");
  if (const std::uint64_t format = word_at(file, 8); format != Checkpoint::kFormat) {
    refuse(name, fmt::format("a checkpoint of format {}, where this program reads format {}",
                             format, Checkpoint::kFormat));
  }
  const std::uint64_t header = word_at(file, 16), payload = word_at(file, 24);
  const std::uint64_t room = file.size() - kPrologueBytes - kWordBytes;
  if (header > room || payload != room - header) {
    refuse(name, fmt::format("a damaged checkpoint: it has {} bytes where it names {} and {}", room,
                             header, payload));
  }
  const std::size_t end = file.size() - kWordBytes;
  if (word_at(file, end) != fnv1a(file.data(), end)) {
    refuse(name, "a damaged checkpoint: its checksum does not match");
  }
  return {.header = {file.data() + kPrologueBytes, static_cast<std::size_t>(header)},
          .payload = file.subspan(kPrologueBytes + static_cast<std::size_t>(header),
                                  static_cast<std::size_t>(payload))};
}

Bytes part_of(Bytes payload, const Extent& extent, const std::string& name) {
  if (extent.size > payload.size() || extent.offset > payload.size() - extent.size) {
    refuse(name, "a damaged checkpoint: a part of it lies outside");
  }
  return payload.subspan(static_cast<std::size_t>(extent.offset),
                         static_cast<std::size_t>(extent.size));
}

/// Refuses values that parse but that no run writes. This matters, because the run's id names a
/// folder that is removed.
void refuse_nonsense(const Checkpoint& checkpoint, const std::string& name) {
  const auto damaged = [&](const std::string& what) {
    refuse(name, "a damaged checkpoint: " + what);
  };
  const bool is_id = checkpoint.run_id.size() == 2 * system::kRunIdBytes &&
                     checkpoint.run_id.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_id) damaged("its run has no id");
  if (checkpoint.examples < 0 || checkpoint.training_ns < 0 || checkpoint.full_ns < 0) {
    damaged("a count or a clock is below zero");
  }
  if (checkpoint.examples > 0 && checkpoint.evaluations.empty()) damaged("it has no evaluation");
  std::set<int> numbers;
  for (const run::LoopHistory& loop : checkpoint.report.loops) {
    if (loop.number < 0 || !numbers.insert(loop.number).second) damaged("a loop is there twice");
  }
}

}  // namespace

void encode(Checkpoint checkpoint, const std::function<void(Bytes)>& write) {
  Payload payload;
  lay_out(checkpoint.variables, payload);
  const std::string header = system::bytes_of(checkpoint);
  std::uint64_t checksum = fnv1a("");
  const auto add = [&](Bytes bytes) {
    checksum = fnv1a(bytes.data(), bytes.size(), checksum);
    write(bytes);
  };
  add(kMagic);
  add(system::bytes_of(Checkpoint::kFormat));
  add(system::bytes_of(std::uint64_t{header.size()}));
  add(system::bytes_of(payload.size()));
  add(header);
  for (Bytes piece : payload.pieces()) add(piece);
  write(system::bytes_of(checksum));
}

Checkpoint decode(std::vector<char> file, const std::string& name) {
  const auto kept = std::make_shared<const std::vector<char>>(std::move(file));
  const Sections sections = sections_of(*kept, name);
  Checkpoint checkpoint;
  try {
    checkpoint = system::value_in<Checkpoint>(sections.header);
    run::require_whole(checkpoint.report);
  } catch (const RunError& error) {
    refuse(name, std::string("a damaged checkpoint: ") + error.what());
  }
  refuse_nonsense(checkpoint, name);
  for (SavedVariable& variable : checkpoint.variables) {
    variable.memory = part_of(sections.payload, variable.extent, name);
  }
  checkpoint.file = kept;
  return checkpoint;
}

Positions positions_of(const Checkpoint& checkpoint) {
  Positions positions{.loops = {},
                      .steps = std::ssize(run::beginnings(checkpoint.report.loops)),
                      .examples = checkpoint.examples};
  for (const run::LoopHistory& loop : checkpoint.report.loops) {
    if (loop.examples.empty()) continue;
    positions.loops.push_back({.number = loop.number,
                               .steps = std::ssize(loop.examples),
                               .last_examples = loop.examples.back()});
  }
  return positions;
}

}  // namespace regatta::checkpoint
