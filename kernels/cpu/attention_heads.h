// SPDX-License-Identifier: Apache-2.0
//
// Shared by attention.cpp and attention_backward.cpp: the heads of a batch of sequences. One thread
// computes a head of a sequence at a time, so results do not depend on the number of threads. It
// packs the head's operands as f32 panels, whatever their type; then blocks of queries meet blocks
// of keys, and panels of keys after the last query are left out. Its scratch memory grows with the
// context, not with its square.
#pragma once

#include <cmath>
#include <memory>

#include "kernels/cpu/panels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/scratch.h"

namespace regatta::cpu::heads {

/// Shapes: x [batch, tokens, 3, heads, channels], y [batch, tokens, heads, channels].
struct Shape {
  Shape(const TensorType& x, std::int64_t head_count)
      : batch(x.dim(0)),
        tokens(x.dim(1)),
        heads(head_count),
        channels(x.dim(2) / (3 * head_count)) {}
  std::int64_t batch, tokens, heads, channels;

  std::int64_t padded() const { return whole_panels(tokens); }
  std::int64_t columns() const { return whole_panels(channels); }
  std::int64_t matrix() const { return padded() * columns(); }  ///< elements of a packed operand
  float factor() const { return 1 / std::sqrt(static_cast<float>(channels)); }

  /// Queries (part 0), keys (1) or values (2) of head `index` of all sequences' heads.
  template <typename T>
  RowsOf<T> in_x(T* x, std::int64_t index, std::int64_t part) const {
    const std::int64_t first = index / heads * tokens * 3 + part;
    return {x + (first * heads + index % heads) * channels, 3 * heads * channels, tokens, channels};
  }
  template <typename T>
  RowsOf<T> in_y(T* y, std::int64_t index) const {
    const std::int64_t first = index / heads * tokens * heads + index % heads;
    return {y + first * channels, heads * channels, tokens, channels};
  }
};

/// The operands' memory of one thread, part after part.
class Parts {
 public:
  explicit Parts(float* begin) : next_(begin) {}
  float* take(std::int64_t elements) { return std::exchange(next_, next_ + elements); }

 private:
  float* next_;
};

/// Runs body(head index, scratch) for all heads of all sequences, and keeps the scratch memory.
class Heads {
 public:
  Heads(const Shape& shape, int threads, std::int64_t scratch_elements)
      : count_(shape.batch * shape.heads),
        parts_(static_cast<int>(std::min<std::int64_t>(threads, count_))),
        elements_(whole_panels(scratch_elements)) {
    const auto bytes = static_cast<std::size_t>(parts_ * elements_) * sizeof(float);
    scratch_->reserve(bytes, [begin = begin_](std::byte* memory) { *begin = memory; });
  }

  template <typename Body>
  void run(const Body& body) const {
    parallel_parts(parts_, [&](int part) {
      float* scratch = reinterpret_cast<float*>(*begin_) + part * elements_;
      for (std::int64_t i = count_ * part / parts_; i < count_ * (part + 1) / parts_; ++i) {
        body(i, Parts(scratch));
      }
    });
  }

 private:
  std::int64_t count_;
  int parts_;
  std::int64_t elements_;
  std::shared_ptr<Scratch> scratch_ = Scratch::of_the_lane();
  std::shared_ptr<std::byte*> begin_ = std::make_shared<std::byte*>(nullptr);
};

/// Returns 0, 1, 2, …
inline LaneIntegers indices_of_lanes() {
  LaneIntegers indices;
  for (int i = 0; i < kLanes; ++i) indices[i] = i;
  return indices;
}
/// Returns a mask of the keys that the row's query does not see; lane i is column c + i of a panel
/// on the diagonal.
inline LaneIntegers hidden(std::int64_t row, std::int64_t c) {
  return indices_of_lanes() > static_cast<std::int32_t>(row - c);
}
/// Returns a mask of the queries that do not see the row's key.
inline LaneIntegers unseen(std::int64_t row, std::int64_t c) {
  return indices_of_lanes() < static_cast<std::int32_t>(row - c);
}

}  // namespace regatta::cpu::heads
