// SPDX-License-Identifier: Apache-2.0
//
// embed: y = rows of the table; backward: dtable[v] = sum of dy over the tokens v, in their order;
// each part has some columns of all tokens. dtable is f32.
// rotary: in each head of D channels, channels i and i + D / 2 of a query or key at token t are
// rotated by the angle t * base^(-2 i / D), backward by the opposite angle.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/cpu/element.h"
#include "kernels/cpu/lanes.h"
#include "kernels/cpu/parallel.h"
#include "kernels/graph/chunks.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

KernelPointer embed(const KernelRequest& request) {
  const Tensor tokens = request.inputs[0], table = request.inputs[1], y = request.outputs[0];
  const int parts = parts_for(request.threads, y.elements());
  const std::int64_t offset = request.node.attributes.integer("offset", 0);
  return with_element(y.type.element, [=]<typename T>(T) {
    return make_kernel([=, count = tokens.elements(), rows = table.type.rows(),
                        columns = table.type.columns()](const StepContext&) {
      parallel_parts(parts, [&](int part) {
        const Range mine = share(count, parts, part);
        for (std::int64_t i = mine.begin; i < mine.end; ++i) {
          const std::int64_t row = tokens.as<std::int32_t>()[i] - offset;
          T* to = y.as<T>() + i * columns;
          if (row >= 0 && row < rows) {
            std::copy_n(table.as<T>() + row * columns, columns, to);
          } else {
            std::fill_n(to, columns, T{});
          }
        }
      });
    });
  });
}

KernelPointer embed_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], tokens = request.inputs[1], dtable = request.outputs[0];
  const int parts = parts_for(request.threads, dy.elements() + dtable.elements());
  const std::int64_t offset = request.node.attributes.integer("offset", 0);
  return with_element(dy.type.element, [=]<typename T>(T) {
    return make_kernel([=, count = tokens.elements(), rows = dtable.type.rows(),
                        columns = dtable.type.columns()](const StepContext&) {
      parallel_ranges(parts, columns, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = 0; row < rows; ++row) {
          std::fill_n(dtable.f32() + row * columns + begin, end - begin, 0.0F);
        }
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t row = tokens.as<std::int32_t>()[i] - offset;
          if (row < 0 || row >= rows) continue;
          const T* from = dy.as<T>() + i * columns;
          float* to = dtable.f32() + row * columns;
#pragma omp simd
          for (std::int64_t c = begin; c < end; ++c) to[c] += load(from[c]);
        }
      });
    });
  });
}

/// Rotates a head of 2 * half channels; `angles` has the cosine of each pair, then the sine.
template <typename T>
void rotate(const T* x, const float* angles, std::int64_t half, T* y) {
  for_each_lanes(half, [&](auto i, auto lanes) {
    const Lanes first = load_lanes(x + i, lanes), second = load_lanes(x + half + i, lanes);
    const Lanes cosine = load_lanes(angles + i, lanes), sine = load_lanes(angles + half + i, lanes);
    store_lanes(y + i, first * cosine - second * sine, lanes);
    store_lanes(y + half + i, second * cosine + first * sine, lanes);
  });
}

KernelPointer rotary(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const Attributes& attributes = request.node.attributes;
  const std::int64_t rows = x.type.rows(), length = x.type.dim(1), channels = x.type.dim(2) / 3;
  const std::int64_t width = channels / attributes.integer("heads"), half = width / 2;
  const int parts = parts_for(request.threads, x.elements());
  const double sign = attributes.integer("back") != 0 ? -1 : 1;
  const Chunks chunks = chunks_of(attributes, "chunks", length);
  std::vector<float> angles(static_cast<std::size_t>(length * width));  // as rotate() reads them
  for (std::int64_t k = 0; k < length * half; ++k) {
    const double power = -static_cast<double>(k % half) / static_cast<double>(half);
    const double angle =
        static_cast<double>(chunks.position(k / half)) * std::pow(attributes.real("base"), power);
    float* const cosine = angles.data() + k / half * width + k % half;
    cosine[0] = static_cast<float>(std::cos(angle));
    cosine[half] = static_cast<float>(sign * std::sin(angle));
  }
  return with_element(x.type.element, [&]<typename T>(T) {
    return make_kernel([=, angles = std::move(angles)](const StepContext&) {
      parallel_parts(parts, [&](int part) {
        const Range mine = share(rows, parts, part);
        for (std::int64_t row = mine.begin; row < mine.end; ++row) {
          const float* turn = angles.data() + row % length * width;
          const std::int64_t values = (3 * row + 2) * channels;
          for (std::int64_t at = 3 * row * channels; at < values; at += width) {
            rotate(x.as<T>() + at, turn, half, y.as<T>() + at);
          }
          std::copy_n(x.as<T>() + values, channels, y.as<T>() + values);
        }
      });
    });
  });
}

}  // namespace

KernelRows embedding_kernels() {
  return {{Op::Embed, embed}, {Op::EmbedBackward, embed_backward}, {Op::Rotary, rotary}};
}

}  // namespace regatta::cpu
