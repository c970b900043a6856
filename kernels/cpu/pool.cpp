// SPDX-License-Identifier: Apache-2.0
//
// max_pool: the largest pixel of each window and its position (row-major, the first of equals).
// average_pool: the sum of each window / kernel². Windows are clipped at the image's border.
// Backward ops gather: each pixel of dx sums the windows that cover it, in order, so one thread
// writes it once and it need not be cleared.
#include <algorithm>

#include "kernels/cpu/element.h"
#include "kernels/cpu/parallel.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

/// Channels processed together; their sums or maxima stay in the first-level cache.
constexpr std::int64_t kBlock = 64;

struct Geometry {
  std::int64_t batch, height, width, channels;  // of x
  std::int64_t rows, columns;                   // of y
  std::int64_t kernel, stride, padding;
  int parts;

  std::int64_t pixel_of_x(std::int64_t b, std::int64_t h, std::int64_t w) const {
    return ((b * height + h) * width + w) * channels;
  }
  std::int64_t pixel_of_y(std::int64_t b, std::int64_t p, std::int64_t q) const {
    return ((b * rows + p) * columns + q) * channels;
  }
};

Geometry geometry_of(const KernelRequest& request, const TensorType& x, const TensorType& y) {
  const Attributes& attributes = request.node.attributes;
  return {.batch = x.dim(0),
          .height = x.dim(1),
          .width = x.dim(2),
          .channels = x.dim(3),
          .rows = y.dim(1),
          .columns = y.dim(2),
          .kernel = attributes.integer("kernel"),
          .stride = attributes.integer("stride"),
          .padding = attributes.integer("padding"),
          .parts = parts_for(request.threads, x.elements())};
}

/// The pixels of window `index` along one axis, clipped to the image.
Range window(const Geometry& n, std::int64_t index, std::int64_t side) {
  const std::int64_t begin = index * n.stride - n.padding;
  return {std::max<std::int64_t>(begin, 0), std::min(begin + n.kernel, side)};
}

/// The windows along one axis that cover pixel `index`.
Range covering(const Geometry& n, std::int64_t index, std::int64_t windows) {
  const std::int64_t past = index + n.padding;
  const std::int64_t first = past < n.kernel ? 0 : (past - n.kernel) / n.stride + 1;
  return {first, std::min(past / n.stride + 1, windows)};
}

/// A pixel of an image and a run of at most kBlock of its channels.
struct Block {
  std::int64_t image, row, column, channel, count;
};

/// Calls body(block) for every block of images of `rows` x `columns` pixels; parts divide rows.
template <typename Body>
void for_each_block(const Geometry& n, std::int64_t rows, std::int64_t columns, const Body& body) {
  parallel_parts(n.parts, [&](int part) {
    const Range mine = share(n.batch * rows, n.parts, part);
    for (std::int64_t i = mine.begin; i < mine.end; ++i) {
      const std::int64_t image = i / rows, row = i % rows;
      for (std::int64_t column = 0; column < columns; ++column) {
        for (std::int64_t c = 0; c < n.channels; c += kBlock) {
          body(Block{image, row, column, c, std::min(kBlock, n.channels - c)});
        }
      }
    }
  });
}

template <typename T>
class MaxPool {
 public:
  explicit MaxPool(const KernelRequest& request)
      : n_(geometry_of(request, request.inputs[0].type, request.outputs[0].type)),
        x_(request.inputs[0].as<T>()),
        y_(request.outputs[0].as<T>()),
        position_(request.outputs[1].as<std::uint8_t>()) {}

  void operator()(const StepContext&) const {
    for_each_block(n_, n_.rows, n_.columns, [this](const Block& block) { pool(block); });
  }

 private:
  void pool(const Block& block) const {
    const auto [b, p, q, c, length] = block;
    const std::int64_t count = length;  // clang's `omp simd` takes no structured binding
    alignas(64) float best[kBlock];
    alignas(64) std::int32_t at[kBlock];
    const Range rows = window(n_, p, n_.height), columns = window(n_, q, n_.width);
    bool first = true;
    for (std::int64_t h = rows.begin; h < rows.end; ++h) {
      for (std::int64_t w = columns.begin; w < columns.end; ++w) {
        const T* x = x_ + n_.pixel_of_x(b, h, w) + c;
        const auto position = static_cast<std::int32_t>(
            (h - p * n_.stride + n_.padding) * n_.kernel + w - q * n_.stride + n_.padding);
        const std::int32_t always = first ? -1 : 0;
        first = false;
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) {
          const float value = load(x[i]);
          const bool wins = (always != 0) | (value > best[i]);
          best[i] = wins ? value : best[i];
          at[i] = wins ? position : at[i];
        }
      }
    }
    const std::int64_t target = n_.pixel_of_y(b, p, q) + c;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      store(y_[target + i], best[i]);
      position_[target + i] = static_cast<std::uint8_t>(at[i]);
    }
  }

  Geometry n_;
  const T* x_;
  T* y_;
  std::uint8_t* position_;
};

template <typename T>
class AveragePool {
 public:
  explicit AveragePool(const KernelRequest& request)
      : n_(geometry_of(request, request.inputs[0].type, request.outputs[0].type)),
        x_(request.inputs[0].as<T>()),
        y_(request.outputs[0].as<T>()) {}

  void operator()(const StepContext&) const {
    for_each_block(n_, n_.rows, n_.columns, [this](const Block& block) { pool(block); });
  }

 private:
  void pool(const Block& block) const {
    const auto [b, p, q, c, length] = block;
    const std::int64_t count = length;  // clang's `omp simd` takes no structured binding
    alignas(64) float sums[kBlock] = {};
    const Range rows = window(n_, p, n_.height), columns = window(n_, q, n_.width);
    for (std::int64_t h = rows.begin; h < rows.end; ++h) {
      for (std::int64_t w = columns.begin; w < columns.end; ++w) {
        const T* x = x_ + n_.pixel_of_x(b, h, w) + c;
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) sums[i] += load(x[i]);
      }
    }
    const float factor = 1.0F / static_cast<float>(n_.kernel * n_.kernel);
    T* y = y_ + n_.pixel_of_y(b, p, q) + c;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) store(y[i], factor * sums[i]);
  }

  Geometry n_;
  const T* x_;
  T* y_;
};

/// Backward of both poolings. An average has no positions: each window adds to all its pixels.
template <typename T>
class PoolBackward {
 public:
  PoolBackward(const KernelRequest& request, const std::uint8_t* positions)
      : n_(geometry_of(request, request.outputs[0].type, request.inputs[0].type)),
        dy_(request.inputs[0].as<T>()),
        positions_(positions),
        dx_(request.outputs[0].as<T>()) {}

  void operator()(const StepContext&) const {
    for_each_block(n_, n_.height, n_.width, [this](const Block& block) { gather(block); });
  }

 private:
  void gather(const Block& block) const {
    const auto [b, h, w, c, length] = block;
    const std::int64_t count = length;  // clang's `omp simd` takes no structured binding
    alignas(64) float sums[kBlock] = {};
    const Range rows = covering(n_, h, n_.rows), columns = covering(n_, w, n_.columns);
    for (std::int64_t p = rows.begin; p < rows.end; ++p) {
      for (std::int64_t q = columns.begin; q < columns.end; ++q) {
        const std::int64_t source = n_.pixel_of_y(b, p, q) + c;
        const std::int64_t position =
            (h - p * n_.stride + n_.padding) * n_.kernel + w - q * n_.stride + n_.padding;
        if (positions_ != nullptr) {
          add_where(source, static_cast<std::int32_t>(position), count, sums);
        } else {
#pragma omp simd
          for (std::int64_t i = 0; i < count; ++i) sums[i] += load(dy_[source + i]);
        }
      }
    }
    const float factor =
        positions_ != nullptr ? 1.0F : 1.0F / static_cast<float>(n_.kernel * n_.kernel);
    T* dx = dx_ + n_.pixel_of_x(b, h, w) + c;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) store(dx[i], factor * sums[i]);
  }

  /// Adds the gradients of those windows at `source` that have their largest pixel at `position`.
  void add_where(std::int64_t source, std::int32_t position, std::int64_t count,
                 float* sums) const {
    const T* dy = dy_ + source;
    const std::uint8_t* positions = positions_ + source;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      sums[i] += std::int32_t{positions[i]} == position ? load(dy[i]) : 0.0F;
    }
  }

  Geometry n_;
  const T* dy_;
  const std::uint8_t* positions_;
  T* dx_;
};

KernelPointer max_pool(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element,
                      [&]<typename T>(T) { return make_kernel(MaxPool<T>(request)); });
}

KernelPointer average_pool(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element,
                      [&]<typename T>(T) { return make_kernel(AveragePool<T>(request)); });
}

KernelPointer max_pool_backward(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) {
    return make_kernel(PoolBackward<T>(request, request.inputs[1].as<std::uint8_t>()));
  });
}

KernelPointer average_pool_backward(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) {
    return make_kernel(PoolBackward<T>(request, nullptr));
  });
}

}  // namespace

KernelRows pool_kernels() {
  return {{Op::MaxPool, max_pool},
          {Op::AveragePool, average_pool},
          {Op::MaxPoolBackward, max_pool_backward},
          {Op::AveragePoolBackward, average_pool_backward}};
}

}  // namespace regatta::cpu
