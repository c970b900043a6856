// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/scratch.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace regatta {
namespace {

// One chunk is enough for most lanes, whichever of their kernels comes first. Units: bytes.
constexpr std::size_t kFewestBytes = std::size_t{32} << 20;

std::shared_ptr<Scratch>& open_scope() {
  static thread_local std::shared_ptr<Scratch> scratch;
  return scratch;
}

}  // namespace

Scratch::Scope::Scope() : before_(std::exchange(open_scope(), std::make_shared<Scratch>())) {}

Scratch::Scope::~Scope() { open_scope() = std::move(before_); }

std::shared_ptr<Scratch> Scratch::of_the_lane() {
  return open_scope() ? open_scope() : std::make_shared<Scratch>();
}

std::byte* Scratch::at_least(std::size_t bytes) {
  if (chunks_.empty() || chunks_.back().bytes < bytes) {
    const std::size_t room = std::max(bytes, kFewestBytes);
    Chunk& chunk = chunks_.emplace_back();
    chunk.memory.reset(static_cast<std::byte*>(::operator new(room, kAlignment)));
    chunk.bytes = room;
    std::memset(chunk.memory.get(), 0, room);  // no page is missing while the clock ticks
  }
  return chunks_.back().memory.get();
}

std::size_t Scratch::bytes() const {
  std::size_t sum = 0;
  for (const Chunk& chunk : chunks_) sum += chunk.bytes;
  return sum;
}

}  // namespace regatta
