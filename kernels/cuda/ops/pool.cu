// SPDX-License-Identifier: Apache-2.0
//
// max_pool: the largest pixel of each window and its position in it (row-major, the first of
// equals); pixels outside the image never win. average_pool: the sum of each window / kernel².
// Backward, a pixel gathers from the windows that contain it, in the order of the windows.
#include <limits>
#include <string>

#include "kernels/base/error.h"
#include "kernels/cuda/ops/sweep.h"
#include "kernels/cuda/ops/windows.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

/// Sizes of an image and of its pooled result. Units: pixels.
struct Shape {
  Shape(const Attributes& attributes, const TensorType& x, const TensorType& y)
      : height(to_int(x.dim(1))),
        width(to_int(x.dim(2))),
        rows(to_int(y.dim(1))),
        columns(to_int(y.dim(2))),
        kernel(to_int(attributes.integer("kernel"))),
        stride(to_int(attributes.integer("stride"))),
        padding(to_int(attributes.integer("padding"))),
        batch(x.dim(0)),
        channels(x.dim(3)) {}

  static std::int32_t to_int(std::int64_t value) { return static_cast<std::int32_t>(value); }
  __host__ __device__ std::int64_t x_at(std::int64_t image, std::int32_t row,
                                        std::int32_t column) const {
    return ((image * height + row) * width + column) * channels;
  }
  __host__ __device__ std::int64_t y_at(std::int64_t image, std::int32_t row,
                                        std::int32_t column) const {
    return ((image * rows + row) * columns + column) * channels;
  }

  std::int32_t height, width;  ///< of x
  std::int32_t rows, columns;  ///< of y
  std::int32_t kernel, stride, padding;
  std::int64_t batch, channels;
};

/// The pixels of a window, or the windows of a pixel, along one axis: [begin, end).
struct Span {
  std::int32_t begin, end;
};

/// The pixels of the window at `index` of y, as far as they lie in the image.
__host__ __device__ inline Span pixels_of(const Shape& n, std::int32_t index, std::int32_t side) {
  const std::int32_t first = index * n.stride - n.padding, last = first + n.kernel;
  return {first < 0 ? 0 : first, last > side ? side : last};
}

/// The windows that contain the pixel at `index` of x.
__host__ __device__ inline Span windows_of(const Shape& n, std::int32_t index, std::int32_t count) {
  const std::int32_t reach = index + n.padding, below = reach - n.kernel + 1;
  const std::int32_t last = reach / n.stride + 1;
  return {below <= 0 ? 0 : (below + n.stride - 1) / n.stride, last > count ? count : last};
}

/// The place of a pack of channels in x or y, whose row and column counts are given.
struct PixelPlace {
  __host__ __device__ PixelPlace(std::int64_t index, const Shape& n, int pack_width,
                                 std::int32_t row_count, std::int32_t column_count) {
    // build() checks that packs are fewer than 2^32; 32-bit division is far cheaper.
    const auto all = static_cast<std::uint32_t>(index);
    const auto packs = static_cast<std::uint32_t>(n.channels / pack_width);
    const std::uint32_t pixel = all / packs;
    const std::uint32_t line = pixel / static_cast<std::uint32_t>(column_count);
    channel = static_cast<std::int64_t>(all % packs) * pack_width;
    column = static_cast<std::int32_t>(pixel % static_cast<std::uint32_t>(column_count));
    row = static_cast<std::int32_t>(line % static_cast<std::uint32_t>(row_count));
    image = line / static_cast<std::uint32_t>(row_count);
  }

  std::int64_t image, channel;
  std::int32_t row, column;
};

template <typename T, int kWidth>
struct MaxPool {
  Shape n;
  const T* x;
  T* y;
  std::uint8_t* positions;

  __host__ __device__ void operator()(std::int64_t index) const {
    const PixelPlace at(index, n, kWidth, n.rows, n.columns);
    const Span rows = pixels_of(n, at.row, n.height), columns = pixels_of(n, at.column, n.width);
    const std::int32_t top = at.row * n.stride - n.padding;
    const std::int32_t left = at.column * n.stride - n.padding;
    float best[kWidth] = {}, pixel[kWidth];
    std::uint8_t position[kWidth] = {};
    bool first = true;
    for (std::int32_t row = rows.begin; row < rows.end; ++row) {
      for (std::int32_t column = columns.begin; column < columns.end; ++column) {
        load_pack(x + n.x_at(at.image, row, column) + at.channel, pixel);
        const std::int32_t here = (row - top) * n.kernel + column - left;
        for (int j = 0; j < kWidth; ++j) {
          if (!first && !(pixel[j] > best[j])) continue;
          best[j] = pixel[j];
          position[j] = static_cast<std::uint8_t>(here);
        }
        first = false;
      }
    }
    const std::int64_t to = n.y_at(at.image, at.row, at.column) + at.channel;
    store_pack(y + to, best);
    store_positions(positions + to, position);
  }
};

template <typename T, int kWidth>
struct AveragePool {
  Shape n;
  const T* x;
  T* y;

  __host__ __device__ void operator()(std::int64_t index) const {
    const PixelPlace at(index, n, kWidth, n.rows, n.columns);
    const Span rows = pixels_of(n, at.row, n.height), columns = pixels_of(n, at.column, n.width);
    float sum[kWidth] = {}, pixel[kWidth];
    for (std::int32_t row = rows.begin; row < rows.end; ++row) {
      for (std::int32_t column = columns.begin; column < columns.end; ++column) {
        load_pack(x + n.x_at(at.image, row, column) + at.channel, pixel);
        for (int j = 0; j < kWidth; ++j) sum[j] += pixel[j];
      }
    }
    for (float& value : sum) value /= static_cast<float>(n.kernel * n.kernel);
    store_pack(y + n.y_at(at.image, at.row, at.column) + at.channel, sum);
  }
};

/// Gradient of max_pool if there are positions, else of average_pool.
template <typename T, int kWidth>
struct PoolBackward {
  Shape n;
  const T* dy;
  const std::uint8_t* positions;
  T* dx;

  __host__ __device__ void operator()(std::int64_t index) const {
    const PixelPlace at(index, n, kWidth, n.height, n.width);
    const Span rows = windows_of(n, at.row, n.rows), columns = windows_of(n, at.column, n.columns);
    float sum[kWidth] = {};
    for (std::int32_t row = rows.begin; row < rows.end; ++row) {
      for (std::int32_t column = columns.begin; column < columns.end; ++column) {
        const std::int64_t from = n.y_at(at.image, row, column) + at.channel;
        const std::int32_t here = (at.row - row * n.stride + n.padding) * n.kernel + at.column -
                                  column * n.stride + n.padding;
        add(from, here, sum);
      }
    }
    if (positions == nullptr) {
      for (float& value : sum) value /= static_cast<float>(n.kernel * n.kernel);
    }
    store_pack(dx + n.x_at(at.image, at.row, at.column) + at.channel, sum);
  }

  __host__ __device__ void add(std::int64_t from, std::int32_t here, float (&sum)[kWidth]) const {
    float gradient[kWidth];
    load_pack(dy + from, gradient);
    if (positions == nullptr) {
      for (int j = 0; j < kWidth; ++j) sum[j] += gradient[j];
      return;
    }
    const auto where = load_positions<kWidth>(positions + from);
    for (int j = 0; j < kWidth; ++j) {
      if (where.at[j] == here) sum[j] += gradient[j];
    }
  }
};

/// A kernel for all packs of channels of `result`'s pixels; make(T{}, width) returns its body.
template <typename MakeBody>
KernelPointer build(const KernelRequest& request, const Tensor& result, const MakeBody& make) {
  Queue* queue = &queue_of(request);
  const std::int64_t channels = result.type.dim(3);
  if (result.elements() > std::numeric_limits<std::uint32_t>::max()) {
    throw RunError(ErrorKind::Unsupported, "a pool on a GPU yields fewer than 2^32 elements, not " +
                                               std::to_string(result.elements()) +
                                               "; fix: use a smaller batch");
  }
  return with_element(result.type.element, [&]<typename T>(T) {
    const auto with = [&](auto width) {
      const auto body = make(T{}, width);
      const std::int64_t packs = result.elements() / decltype(width)::value;
      return make_kernel([=](const StepContext&) { for_each(*queue, packs, body); });
    };
    return with_width(channels,
                      {request.inputs[0].data, address_of(request.inputs, 1),
                       request.outputs[0].data, address_of(request.outputs, 1)},
                      with);
  });
}

Shape forward_shape(const KernelRequest& request) {
  return {request.node.attributes, request.inputs[0].type, request.outputs[0].type};
}

Shape backward_shape(const KernelRequest& request) {
  return {request.node.attributes, request.outputs[0].type, request.inputs[0].type};
}

KernelPointer max_pool(const KernelRequest& request) {
  return build(request, request.outputs[0], [&]<typename T, typename Width>(T, Width) {
    return MaxPool<T, Width::value>{.n = forward_shape(request),
                                    .x = request.inputs[0].as<T>(),
                                    .y = request.outputs[0].as<T>(),
                                    .positions = request.outputs[1].as<std::uint8_t>()};
  });
}

KernelPointer average_pool(const KernelRequest& request) {
  return build(request, request.outputs[0], [&]<typename T, typename Width>(T, Width) {
    return AveragePool<T, Width::value>{.n = forward_shape(request),
                                        .x = request.inputs[0].as<T>(),
                                        .y = request.outputs[0].as<T>()};
  });
}

KernelPointer max_pool_backward(const KernelRequest& request) {
  return build(request, request.outputs[0], [&]<typename T, typename Width>(T, Width) {
    return PoolBackward<T, Width::value>{.n = backward_shape(request),
                                         .dy = request.inputs[0].as<T>(),
                                         .positions = request.inputs[1].as<std::uint8_t>(),
                                         .dx = request.outputs[0].as<T>()};
  });
}

KernelPointer average_pool_backward(const KernelRequest& request) {
  return build(request, request.outputs[0], [&]<typename T, typename Width>(T, Width) {
    return PoolBackward<T, Width::value>{.n = backward_shape(request),
                                         .dy = request.inputs[0].as<T>(),
                                         .positions = nullptr,
                                         .dx = request.outputs[0].as<T>()};
  });
}

}  // namespace

KernelRows pool_kernels() {
  return {{Op::MaxPool, max_pool},
          {Op::AveragePool, average_pool},
          {Op::MaxPoolBackward, max_pool_backward},
          {Op::AveragePoolBackward, average_pool_backward}};
}

}  // namespace regatta::cuda
