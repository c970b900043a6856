// SPDX-License-Identifier: Apache-2.0
//
// Shared by attention.cpp and attention_backward.cpp: the heads of a batch of sequences. One thread
// computes a head of a sequence at a time, so results do not depend on the number of threads. It
// packs the head's operands as f32 panels, whatever their type, and multiplies blocks of queries
// with blocks of keys; panels of keys after the last query are left out. Each chunk of a sequence
// is packed separately. Scratch memory grows with the context, not with its square.
#pragma once

#include <cmath>
#include <memory>

#include "kernels/cpu/panels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/graph/chunks.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/scratch.h"

namespace regatta::cpu::heads {

/// The keys of a chunk that the queries of another chunk see.
enum class Sight : std::uint8_t { None, Causal, All };

/// Shapes: x [batch, tokens, 3, heads, channels], y [batch, tokens, heads, channels], and those of
/// a block's keys and values [batch, tokens, 2, heads, channels].
struct Shape {
  /// `kv`: the type of a block's keys and values, or x.
  Shape(const TensorType& x, const TensorType& kv, const Attributes& attributes)
      : queries(chunks_of(attributes, "queries", x.dim(1))),
        keys(chunks_of(attributes, "keys", kv.dim(1))),
        batch(x.dim(0)),
        tokens(queries.length),
        heads(attributes.integer("heads")),
        channels(x.dim(2) / (3 * heads)),
        key_parts(kv.dim(2) / (heads * channels)) {}
  Chunks queries, keys;
  std::int64_t batch;
  std::int64_t tokens;  ///< of a chunk
  std::int64_t heads, channels;
  std::int64_t key_parts;

  std::int64_t padded() const { return whole_panels(tokens); }
  std::int64_t columns() const { return whole_panels(channels); }
  /// Elements of a packed operand of one chunk.
  std::int64_t matrix() const { return padded() * columns(); }
  float factor() const { return 1 / std::sqrt(static_cast<float>(channels)); }

  Sight sight(std::int64_t query_chunk, std::int64_t key_chunk) const {
    const std::int64_t query = queries.number(query_chunk), key = keys.number(key_chunk);
    return query == key ? Sight::Causal : query > key ? Sight::All : Sight::None;
  }

  /// A chunk's queries of head `index` of all sequences' heads.
  template <typename T>
  RowsOf<T> in_x(T* x, std::int64_t index, std::int64_t chunk) const {
    return rows(x, index, chunk, {queries.count(), 3, 0});
  }
  template <typename T>
  RowsOf<T> in_y(T* y, std::int64_t index, std::int64_t chunk) const {
    return rows(y, index, chunk, {queries.count(), 1, 0});
  }
  /// A chunk's keys (part 0) or values (1).
  template <typename T>
  RowsOf<T> in_keys(T* kv, std::int64_t index, std::int64_t chunk, std::int64_t part) const {
    return rows(kv, index, chunk, {keys.count(), key_parts, key_parts - 2 + part});
  }
  /// The index of a query's l.
  std::int64_t log_at(std::int64_t index, std::int64_t chunk) const {
    return (index * queries.count() + chunk) * tokens;
  }

 private:
  struct Layout {
    std::int64_t chunks, parts, part;
  };
  template <typename T>
  RowsOf<T> rows(T* at, std::int64_t index, std::int64_t chunk, const Layout& layout) const {
    const std::int64_t token = (index / heads * layout.chunks + chunk) * tokens;
    const std::int64_t head = (token * layout.parts + layout.part) * heads + index % heads;
    return {at + head * channels, layout.parts * heads * channels, tokens, channels};
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
