// SPDX-License-Identifier: Apache-2.0
//
// max_pool: the largest pixel of each window and its position in the window (row-major, the first
// of equals); pixels outside the image never win. average_pool: the sum of each window / kernel²,
// so pixels outside the image count as zeros.
#include <algorithm>

#include "kernels/runtime/kernel.h"

namespace regatta::reference {
namespace {

/// Windows that slide over an image.
struct Windows {
  std::int64_t batch, height, width, channels;  // of x
  std::int64_t rows, columns;                   // of y
  std::int64_t kernel, stride, padding;
};

Windows windows_of(const Attributes& attributes, const TensorType& x, const TensorType& y) {
  return {.batch = x.dim(0),
          .height = x.dim(1),
          .width = x.dim(2),
          .channels = x.dim(3),
          .rows = y.dim(1),
          .columns = y.dim(2),
          .kernel = attributes.integer("kernel"),
          .stride = attributes.integer("stride"),
          .padding = attributes.integer("padding")};
}

/// Calls visit(index in y, index in x, position) for every pixel of every window that is inside the
/// image; the pixels of one window come together, in the order of their positions.
template <typename Visit>
void for_each_pixel(const Windows& n, Visit visit) {
  for (std::int64_t b = 0; b < n.batch; ++b) {
    for (std::int64_t p = 0; p < n.rows; ++p) {
      for (std::int64_t q = 0; q < n.columns; ++q) {
        for (std::int64_t c = 0; c < n.channels; ++c) {
          const std::int64_t y = ((b * n.rows + p) * n.columns + q) * n.channels + c;
          for (std::int64_t position = 0; position < n.kernel * n.kernel; ++position) {
            const std::int64_t h = p * n.stride + position / n.kernel - n.padding;
            const std::int64_t w = q * n.stride + position % n.kernel - n.padding;
            if (h < 0 || h >= n.height || w < 0 || w >= n.width) continue;
            visit(y, ((b * n.height + h) * n.width + w) * n.channels + c, position);
          }
        }
      }
    }
  }
}

KernelPointer max_pool(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0], index = request.outputs[1];
  const Windows windows = windows_of(request.node.attributes, x.type, y.type);
  return make_kernel([=](const StepContext&) {
    std::int64_t window = -1;
    for_each_pixel(windows, [&](std::int64_t iy, std::int64_t ix, std::int64_t position) {
      const bool first = iy != window;
      window = iy;
      if (!first && !(x.f32()[ix] > y.f32()[iy])) return;
      y.f32()[iy] = x.f32()[ix];
      index.as<std::uint8_t>()[iy] = static_cast<std::uint8_t>(position);
    });
  });
}

KernelPointer max_pool_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], index = request.inputs[1], dx = request.outputs[0];
  const Windows windows = windows_of(request.node.attributes, dx.type, dy.type);
  return make_kernel([=](const StepContext&) {
    std::fill_n(dx.f32(), dx.elements(), 0.0F);
    for_each_pixel(windows, [&](std::int64_t iy, std::int64_t ix, std::int64_t position) {
      if (index.as<std::uint8_t>()[iy] == position) dx.f32()[ix] += dy.f32()[iy];
    });
  });
}

KernelPointer average_pool(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const Windows windows = windows_of(request.node.attributes, x.type, y.type);
  return make_kernel([=](const StepContext&) {
    const auto area = static_cast<float>(windows.kernel * windows.kernel);
    std::fill_n(y.f32(), y.elements(), 0.0F);
    for_each_pixel(windows, [&](std::int64_t iy, std::int64_t ix, std::int64_t) {
      y.f32()[iy] += x.f32()[ix] / area;
    });
  });
}

KernelPointer average_pool_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], dx = request.outputs[0];
  const Windows windows = windows_of(request.node.attributes, dx.type, dy.type);
  return make_kernel([=](const StepContext&) {
    const auto area = static_cast<float>(windows.kernel * windows.kernel);
    std::fill_n(dx.f32(), dx.elements(), 0.0F);
    for_each_pixel(windows, [&](std::int64_t iy, std::int64_t ix, std::int64_t) {
      dx.f32()[ix] += dy.f32()[iy] / area;
    });
  });
}

}  // namespace

KernelRows pool_kernels() {
  return {{Op::MaxPool, max_pool},
          {Op::MaxPoolBackward, max_pool_backward},
          {Op::AveragePool, average_pool},
          {Op::AveragePoolBackward, average_pool_backward}};
}

}  // namespace regatta::reference
