// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/scatter.h"

#include <algorithm>
#include <cstring>

#include "kernels/base/error.h"

namespace regatta::comm {
namespace {

constexpr std::int64_t kElement = sizeof(float);

/// Adds f32 values from `from`, which may have any alignment, to `sums`.
void add_to(float* sums, const std::uint8_t* from, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    float term;
    std::memcpy(&term, from + i * kElement, sizeof term);
    sums[i] += term;
  }
}

}  // namespace

Scatter::Scatter(std::span<const Tensor> tensors, Landing landing) : landing_(landing) {
  for (const Tensor& tensor : tensors) {
    check(landing == Landing::Replaces || tensor.type.element == ElementType::F32,
          "what is added up as it arrives is f32");
    parts_.push_back({.data = tensor.as<std::uint8_t>(), .bytes = tensor.type.bytes()});
    bytes_ += tensor.type.bytes();
  }
}

void Scatter::begin() {
  part_ = 0;
  offset_ = 0;
}

void Scatter::land(std::span<const std::uint8_t> piece) {
  while (!piece.empty()) {
    const Part& part = parts_.at(part_);
    const std::int64_t bytes = std::min(std::ssize(piece), part.bytes - offset_);
    if (landing_ == Landing::Replaces) {
      replace(piece.data(), bytes);
    } else {
      add_elements(piece.data(), bytes);
    }
    piece = piece.subspan(static_cast<std::size_t>(bytes));
    if (offset_ < part.bytes) continue;
    ++part_;
    offset_ = 0;
  }
}

void Scatter::replace(const std::uint8_t* from, std::int64_t bytes) {
  std::memcpy(parts_[part_].data + offset_, from, static_cast<std::size_t>(bytes));
  offset_ += bytes;
}

void Scatter::add_elements(const std::uint8_t* from, std::int64_t bytes) {
  auto* const sums = reinterpret_cast<float*>(parts_[part_].data);
  while (bytes > 0) {
    const std::int64_t begun = offset_ % kElement;
    std::int64_t taken = bytes - bytes % kElement;
    if (begun == 0 && taken > 0) {
      add_to(sums + offset_ / kElement, from, taken / kElement);
    } else {
      taken = std::min(kElement - begun, bytes);
      std::copy_n(from, taken, begun_.begin() + begun);
      if (begun + taken == kElement) add_to(sums + offset_ / kElement, begun_.data(), 1);
    }
    from += taken;
    offset_ += taken;
    bytes -= taken;
  }
}

}  // namespace regatta::comm
