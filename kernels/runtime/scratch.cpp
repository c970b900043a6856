// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/scratch.h"

#include <cstring>
#include <utility>

namespace regatta {
namespace {

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

void Scratch::reserve(std::size_t bytes, Place place) {
  kernels_.push_back(std::move(place));
  if (bytes <= bytes_) return kernels_.back()(memory_.get());
  memory_.reset();
  memory_.reset(static_cast<std::byte*>(::operator new(bytes, kAlignment)));
  bytes_ = bytes;
  std::memset(memory_.get(), 0, bytes);  // touches all pages before the clock starts
  for (const Place& kernel : kernels_) kernel(memory_.get());
}

}  // namespace regatta
