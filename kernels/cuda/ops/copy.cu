// SPDX-License-Identifier: Apache-2.0
//
// Ops that only move elements: copy, assign, concatenate, take, put, translate.
#include <vector>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/graph/pieces.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

template <typename Unit>
struct CopyUnits {
  const Unit* from;
  Unit* to;

  __host__ __device__ void operator()(std::int64_t i) const { to[i] = from[i]; }
};

struct Chunk {
  const void* from = nullptr;
  void* to = nullptr;
  std::int64_t bytes = 0;
};

template <typename Unit>
bool enqueue_as(Queue& queue, const Chunk& chunk) {
  const auto all = reinterpret_cast<std::uintptr_t>(chunk.from) |
                   reinterpret_cast<std::uintptr_t>(chunk.to) |
                   static_cast<std::uintptr_t>(chunk.bytes);
  if (all % sizeof(Unit) != 0) return false;
  for_each(queue, chunk.bytes / static_cast<std::int64_t>(sizeof(Unit)),
           CopyUnits<Unit>{static_cast<const Unit*>(chunk.from), static_cast<Unit*>(chunk.to)});
  return true;
}

/// Copies in the largest units of which addresses and length are multiples.
void enqueue(Queue& queue, const Chunk& chunk) {
  const bool done = enqueue_as<Pack<std::uint32_t, 4>>(queue, chunk) ||
                    enqueue_as<std::uint32_t>(queue, chunk) ||
                    enqueue_as<std::uint16_t>(queue, chunk);
  if (!done) enqueue_as<std::uint8_t>(queue, chunk);
}

KernelPointer copies(const KernelRequest& request, std::vector<Chunk> chunks) {
  Queue* queue = &queue_of(request);
  return make_kernel([queue, chunks = std::move(chunks)](const StepContext&) {
    for (const Chunk& chunk : chunks) enqueue(*queue, chunk);
  });
}

/// Pixel (row, column) of y is pixel (row + rows, column + columns) of x, reflected at its border;
/// then y is mirrored.
template <typename T>
struct Translate {
  const T* x;
  T* y;
  std::int32_t height, width, channels;
  std::int32_t rows, columns;
  bool mirrored;

  static __host__ __device__ std::int32_t reflected(std::int32_t i, std::int32_t side) {
    return i < 0 ? -i : i < side ? i : 2 * side - 2 - i;
  }

  __host__ __device__ void operator()(std::int64_t pixel) const {
    const auto column = static_cast<std::int32_t>(pixel % width);
    const auto row = static_cast<std::int32_t>(pixel / width % height);
    const std::int64_t image = pixel / width / height;
    const std::int64_t from_row = reflected(row + rows, height);
    const std::int64_t from_column =
        reflected((mirrored ? width - 1 - column : column) + columns, width);
    const T* from = x + ((image * height + from_row) * width + from_column) * channels;
    T* to = y + pixel * channels;
    for (std::int32_t c = 0; c < channels; ++c) to[c] = from[c];
  }
};

KernelPointer assign(const KernelRequest& request) {
  const Tensor x = request.inputs[0], variable = request.variables[0]->tensor;
  return copies(request, {{.from = x.data, .to = variable.data, .bytes = x.type.bytes()}});
}

KernelPointer concatenate(const KernelRequest& request) {
  std::vector<Chunk> chunks;
  char* to = request.outputs[0].as<char>();
  for (const Tensor& part : request.inputs) {
    chunks.push_back({.from = part.data, .to = to, .bytes = part.type.bytes()});
    to += part.type.bytes();
  }
  return copies(request, std::move(chunks));
}

/// Element i of a piece's rows, one after the other, or of an output that is to be zero.
template <typename T>
struct CopyRows {
  const T* from;
  T* to;
  std::int64_t from_stride, to_stride, columns;

  __host__ __device__ void operator()(std::int64_t i) const {
    const std::int64_t row = i / columns, column = i % columns;
    to[row * to_stride + column] = from[row * from_stride + column];
  }
};

template <typename T>
struct Clear {
  T* to;
  __host__ __device__ void operator()(std::int64_t i) const { to[i] = T{}; }
};

template <typename T>
KernelPointer place_as(const KernelRequest& request, std::vector<CopiedRows> pieces) {
  Queue* queue = &queue_of(request);
  const Tensor y = request.outputs[0];
  std::vector<std::pair<CopyRows<T>, std::int64_t>> copies;  // with their elements
  for (const CopiedRows& piece : pieces) {
    copies.push_back({{.from = request.inputs[piece.input].template as<T>() + piece.from,
                       .to = y.as<T>() + piece.to,
                       .from_stride = piece.from_stride,
                       .to_stride = piece.to_stride,
                       .columns = piece.columns},
                      piece.rows * piece.columns});
  }
  return make_kernel([=, is_covered = cover(pieces, y.type)](const StepContext&) {
    if (!is_covered) for_each(*queue, y.elements(), Clear<T>{y.as<T>()});
    for (const auto& [body, elements] : copies) for_each(*queue, elements, body);
  });
}

/// take or put.
KernelPointer place(const KernelRequest& request) {
  const TensorType& y = request.outputs[0].type;
  std::vector<TensorType> types;
  for (const Tensor& input : request.inputs) types.push_back(input.type);
  std::vector<CopiedRows> pieces = pieces_of(request.node, types, y);
  return y.bytes() / y.elements() == 4 ? place_as<std::uint32_t>(request, std::move(pieces))
                                       : place_as<std::uint16_t>(request, std::move(pieces));
}

KernelPointer translate(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  const Attributes& attributes = request.node.attributes;
  Queue* queue = &queue_of(request);
  return with_element(x.type.element, [&]<typename T>(T) {
    const Translate<T> body{.x = x.as<T>(),
                            .y = y.as<T>(),
                            .height = static_cast<std::int32_t>(x.type.dim(1)),
                            .width = static_cast<std::int32_t>(x.type.dim(2)),
                            .channels = static_cast<std::int32_t>(x.type.dim(3)),
                            .rows = static_cast<std::int32_t>(attributes.integer("rows")),
                            .columns = static_cast<std::int32_t>(attributes.integer("columns")),
                            .mirrored = attributes.integer("mirror") != 0};
    const std::int64_t pixels = x.elements() / x.type.dim(3);
    return make_kernel([=](const StepContext&) { for_each(*queue, pixels, body); });
  });
}

}  // namespace

KernelPointer copy(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  return copies(request, {{.from = x.data, .to = y.data, .bytes = y.type.bytes()}});
}

KernelRows copy_kernels() {
  return {{Op::Copy, copy},  {Op::Assign, assign}, {Op::Concatenate, concatenate},
          {Op::Take, place}, {Op::Put, place},     {Op::Translate, translate}};
}

}  // namespace regatta::cuda
