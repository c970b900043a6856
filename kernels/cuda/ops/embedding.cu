// SPDX-License-Identifier: Apache-2.0
//
// embed: y = rows of the table; backward: dtable[v] = sum of dy over the tokens v, in their order
// within slices of the tokens, then the slices in order. dtable is f32.
// rotary: in each head of D channels, channels i and i + D / 2 of a query or key at token t are
// rotated by the angle t * base^(-2 i / D), backward by the opposite angle.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda/device/upload.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/cuda/ops/row.h"
#include "kernels/graph/chunks.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

template <typename T>
struct Embed {
  const std::int32_t* tokens;
  const T* table;
  T* y;
  std::int64_t offset;  ///< number of the table's first row
  std::int64_t rows;
  std::int64_t columns;

  __host__ __device__ void operator()(const Block& block) const {
    const std::int64_t row = tokens[block.index] - offset;
    const bool is_own = row >= 0 && row < rows;
    const T* from = table + row * columns;
    T* to = y + block.index * columns;
    each_column(block, columns, [&](std::int64_t c) { to[c] = is_own ? from[c] : T{}; });
  }
};

/// One row of the table and one slice of the tokens for each block. It first notes the row's tokens
/// as bits, so that a rare token costs a test of each word.
template <typename T>
struct EmbedBackward {
  static constexpr std::int64_t kWord = 32;
  static constexpr int kAtOnce = 8;  ///< tokens whose dy a thread reads before it uses the first
  static constexpr std::int64_t kManyBlocks = 4096;
  static constexpr std::int64_t kLeastSlice = 256;
  static constexpr std::int64_t kMostSlice = 1 << 18;  ///< 32 KiB of bits

  const T* dy;
  const std::int32_t* tokens;
  float* sums;  ///< [slices, rows, columns]
  std::int64_t count;
  std::int64_t offset;  ///< number of the table's first row
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t slice;  ///< tokens, a multiple of kWord

  std::int64_t slices() const { return (count + slice - 1) / slice; }

  __host__ __device__ void operator()(const Block& block) const {
    const std::int64_t row = block.index % rows, begin = block.index / rows * slice;
    const std::int64_t end = begin + slice < count ? begin + slice : count;
    const std::int64_t words = (end - begin + kWord - 1) / kWord;
    auto* found = reinterpret_cast<std::uint32_t*>(block.shared);
    each_column(block, words, [&](std::int64_t word) {
      std::uint32_t bits = 0;
      for (std::int64_t k = 0; k < kWord; ++k) {
        const std::int64_t i = begin + word * kWord + k;
        if (i < end && tokens[i] == row + offset) bits |= std::uint32_t{1} << k;
      }
      found[word] = bits;
    });
    each_column(block, columns, [&](std::int64_t c) {
      float sum = 0;
      for (std::int64_t i = 0; i < words * kWord; i += kAtOnce) {
        const std::uint32_t bits = found[i / kWord] >> i % kWord;
        if (bits % (1U << kAtOnce) == 0) continue;
        float values[kAtOnce];
        for (int k = 0; k < kAtOnce; ++k) {
          values[k] = (bits >> k & 1) != 0 ? load(dy[(begin + i + k) * columns + c]) : 0.0F;
        }
        for (int k = 0; k < kAtOnce; ++k) sum += values[k];
      }
      sums[block.index * columns + c] = sum;
    });
  }
};

struct AddSlices {
  const float* sums;
  float* y;
  std::int64_t elements;
  std::int64_t slices;

  __host__ __device__ void operator()(std::int64_t i) const {
    float total = 0;
    for (std::int64_t s = 0; s < slices; ++s) total += sums[s * elements + i];
    y[i] = total;
  }
};

/// One token for each block: its queries, keys and values.
template <typename T>
struct Rotary {
  const T* x;
  T* y;
  const float* angles;  ///< [length, half, (cosine, sine)]
  std::int64_t length;
  std::int64_t channels;  ///< of queries
  int half;               ///< of a head's channels

  __host__ __device__ void operator()(const Block& block) const {
    const float* mine = angles + block.index % length * half * 2;
    each_column(block, 3 * channels / 2, [&](std::int64_t pair) {
      const int head = static_cast<int>(pair) / half, i = static_cast<int>(pair) % half;
      const std::int64_t in_token = static_cast<std::int64_t>(head) * 2 * half + i;
      const std::int64_t at = block.index * 3 * channels + in_token;
      if (in_token >= 2 * channels) {
        y[at] = x[at];
        y[at + half] = x[at + half];
        return;
      }
      const float cosine = mine[2 * i], sine = mine[2 * i + 1];
      const float first = load(x[at]), second = load(x[at + half]);
      store(y[at], first * cosine - second * sine);
      store(y[at + half], second * cosine + first * sine);
    });
  }
};

KernelPointer embed(const KernelRequest& request) {
  const Tensor tokens = request.inputs[0], table = request.inputs[1], y = request.outputs[0];
  return with_element(y.type.element, [&]<typename T>(T) {
    const Embed<T> body{.tokens = tokens.as<std::int32_t>(),
                        .table = table.as<T>(),
                        .y = y.as<T>(),
                        .offset = request.node.attributes.integer("offset", 0),
                        .rows = table.type.rows(),
                        .columns = table.type.columns()};
    return launch_rows(request, tokens.elements(), body);
  });
}

template <typename T>
KernelPointer build_embed_backward(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor tokens = request.inputs[1], dtable = request.outputs[0];
  EmbedBackward<T> body{.dy = request.inputs[0].template as<T>(),
                        .tokens = tokens.as<std::int32_t>(),
                        .sums = dtable.f32(),
                        .count = tokens.elements(),
                        .offset = request.node.attributes.integer("offset", 0),
                        .rows = dtable.type.rows(),
                        .columns = dtable.type.columns(),
                        .slice = 0};
  const std::int64_t most = std::max(body.kManyBlocks / body.rows, std::int64_t{1});
  body.slice = std::clamp((body.count + most - 1) / most, body.kLeastSlice, body.kMostSlice);
  body.slice = (body.slice + body.kWord - 1) / body.kWord * body.kWord;
  std::shared_ptr<Scratch> scratch;
  if (body.slices() > 1) {
    scratch = std::make_shared<Scratch>(*queue, body.slices() * dtable.type.bytes());
    body.sums = scratch->as<float>();
  }
  const AddSlices add{body.sums, dtable.f32(), dtable.elements(), body.slices()};
  const auto bits = static_cast<std::size_t>(body.slice / 8);
  return make_kernel([=, keep = scratch](const StepContext&) {
    for_each_block(*queue, body.slices() * body.rows, threads_for_row(body.columns), bits, body);
    if (body.slices() > 1) for_each(*queue, add.elements, add);
  });
}

KernelPointer embed_backward(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element,
                      [&]<typename T>(T) { return build_embed_backward<T>(request); });
}

KernelPointer rotary(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const Attributes& attributes = request.node.attributes;
  const std::int64_t length = x.type.dim(1), channels = x.type.dim(2) / 3;
  const std::int64_t half = channels / attributes.integer("heads") / 2;
  const double sign = attributes.integer("back") != 0 ? -1 : 1;
  const Chunks chunks = chunks_of(attributes, "chunks", length);
  std::vector<float> angles;
  for (std::int64_t k = 0; k < length * half; ++k) {
    const double power = -static_cast<double>(k % half) / static_cast<double>(half);
    const double angle =
        static_cast<double>(chunks.position(k / half)) * std::pow(attributes.real("base"), power);
    angles.push_back(static_cast<float>(std::cos(angle)));
    angles.push_back(static_cast<float>(sign * std::sin(angle)));
  }
  const auto memory = std::make_shared<Scratch>(upload<float>(*queue, angles));
  return with_element(x.type.element, [&]<typename T>(T) {
    const Rotary<T> body{.x = x.as<T>(),
                         .y = y.as<T>(),
                         .angles = memory->template as<float>(),
                         .length = length,
                         .channels = channels,
                         .half = static_cast<int>(half)};
    return make_kernel([=, rows = x.type.rows(), keep = memory](const StepContext&) {
      for_each_block(*queue, rows, threads_for_row(3 * channels), 0, body);
    });
  });
}

}  // namespace

KernelRows embedding_kernels() {
  return {{Op::Embed, embed}, {Op::EmbedBackward, embed_backward}, {Op::Rotary, rotary}};
}

}  // namespace regatta::cuda
