// SPDX-License-Identifier: Apache-2.0
//
// bias: y = a(x + b), a: the fused op's activation or the identity. Backward: db = sum of dz over
// all rows, dx = dz if requested; dz = dy times the activation's derivative at x + b. positions: a
// bias whose channels are all elements of a sequence.
#include "kernels/cuda/device/scratch.h"
#include "kernels/cuda/ops/activation_function.h"
#include "kernels/cuda/ops/sweep.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

/// Sweeps x as one group of rows, with the bias's channels.
Sweep sweep_of(const Tensor& x, const Tensor& b, int width) {
  const std::int64_t channels = b.elements();
  return {1, x.elements() / channels, channels, width};
}

template <typename T, int kWidth>
struct BiasForward {
  Sweep sweep;
  Fusion::Activation activation;
  const T* x;
  const float* b;
  T* y;

  __host__ __device__ void operator()(const Block& block) const {
    block.each([&](int thread) {
      const SweepShare mine = sweep.share<kWidth>(block.index, thread);
      if (mine.begin >= mine.end) return;
      with_activation(activation, [&](auto kind) { apply<decltype(kind)::value>(mine); });
    });
  }

  template <Fusion::Activation kActivation>
  __host__ __device__ void apply(const SweepShare& mine) const {
    float bias[kWidth];
    load_pack(b + mine.channel, bias);
    const auto read = [&](std::int64_t row) {
      return pack_at<kWidth>(x + sweep.offset(mine, row));
    };
    sweep.for_each_loaded<kRowsAtOnce>(mine, read,
                                       [&](std::int64_t row, const Pack<T, kWidth>& pack) {
                                         float values[kWidth];
                                         unpack(pack, values);
                                         for (int j = 0; j < kWidth; ++j)
                                           values[j] = activate<kActivation>(values[j] + bias[j]);
                                         store_pack(y + sweep.offset(mine, row), values);
                                       });
  }
};

/// Without x and b (the single op), dz = dy.
template <typename T, int kWidth>
struct BiasBackward {
  SliceSums<1, kWidth> slices;
  Fusion::Activation activation;
  const T* dy;
  const T* x;
  const float* b;
  T* dx;  ///< null if not requested

  __host__ __device__ void operator()(const Block& block) const {
    slices.sum(block, [&](const SweepShare& mine, float(&sums)[1][kWidth]) {
      with_activation(activation,
                      [&](auto kind) { add_rows<decltype(kind)::value>(mine, sums[0]); });
    });
  }

  /// A pack of dy, and of x if there is one.
  struct Pair {
    Pack<T, kWidth> dy, x;
  };

  template <Fusion::Activation kActivation>
  __host__ __device__ void add_rows(const SweepShare& mine, float (&sums)[kWidth]) const {
    float bias[kWidth] = {};
    if (x != nullptr) load_pack(b + mine.channel, bias);
    const auto read = [&](std::int64_t row) {
      const std::int64_t at = slices.sweep.offset(mine, row);
      Pair pair{.dy = pack_at<kWidth>(dy + at), .x = {}};
      if (x != nullptr) pair.x = pack_at<kWidth>(x + at);
      return pair;
    };
    slices.sweep.template for_each_loaded<kPairsAtOnce>(
        mine, read, [&](std::int64_t row, const Pair& pair) {
          float dz[kWidth], z[kWidth];
          unpack(pair.dy, dz);
          unpack(pair.x, z);
          for (int j = 0; j < kWidth; ++j) {
            dz[j] = activate_backward<kActivation>(dz[j], z[j] + bias[j]);
            sums[j] += dz[j];
          }
          if (dx != nullptr) store_pack(dx + slices.sweep.offset(mine, row), dz);
        });
  }
};

struct StoreSum {
  float* db;

  __host__ __device__ void operator()(std::int64_t, std::int64_t channel,
                                      const double (&sums)[1]) const {
    db[channel] = static_cast<float>(sums[0]);
  }
};

/// Inputs of the single op: dy; of the fused op: dy, x, b.
template <typename T, int kWidth>
KernelPointer build_backward(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor dy = request.inputs[0];
  const bool fused = request.inputs.size() > 1, wants_dx = request.outputs.size() > 1;
  const Sweep sweep = sweep_of(dy, request.outputs[0], kWidth);
  const auto partial =
      std::make_shared<Scratch>(*queue, SliceSums<1, kWidth>::partial_bytes(sweep));
  const BiasBackward<T, kWidth> body{
      .slices = {.sweep = sweep, .partial = partial->template as<float>()},
      .activation = fusion_of(request.node.attributes).activation,
      .dy = dy.as<T>(),
      .x = fused ? request.inputs[1].template as<T>() : nullptr,
      .b = fused ? request.inputs[2].f32() : nullptr,
      .dx = wants_dx ? request.outputs[1].template as<T>() : nullptr};
  const StoreSum finish{request.outputs[0].f32()};
  const auto merge = merge_slices<1>(sweep, body.slices.partial, finish);
  const auto shared = std::max(body.slices.kSharedBytes, merge.body.kSharedBytes);
  return make_kernel([=, keep = partial](const StepContext&) {
    enqueue_phases<4>(*queue, kSweepThreads, shared, Phase{sweep.blocks(), body}, merge);
  });
}

KernelPointer bias(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const Tensor x = request.inputs[0], b = request.inputs[1], y = request.outputs[0];
  if (b.type.element != ElementType::F32) return nullptr;
  const Fusion::Activation activation = fusion_of(request.node.attributes).activation;
  return with_element(x.type.element, [&]<typename T>(T) {
    const auto build = [&](auto width) -> KernelPointer {
      constexpr int kWidth = decltype(width)::value;
      const BiasForward<T, kWidth> body{.sweep = sweep_of(x, b, kWidth),
                                        .activation = activation,
                                        .x = x.as<T>(),
                                        .b = b.f32(),
                                        .y = y.as<T>()};
      return make_kernel([=](const StepContext&) {
        for_each_block(*queue, body.sweep.blocks(), kSweepThreads, 0, body);
      });
    };
    return with_width(b.elements(), {x.data, b.data, y.data}, build);
  });
}

KernelPointer bias_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0];
  return with_element(dy.type.element, [&]<typename T>(T) {
    const auto build = [&](auto width) {
      return build_backward<T, decltype(width)::value>(request);
    };
    return with_width(request.outputs[0].elements(),
                      {dy.data, address_of(request.inputs, 1), address_of(request.inputs, 2),
                       address_of(request.outputs, 1)},
                      build);
  });
}

}  // namespace

KernelRows bias_kernels() {
  return {{Op::Bias, bias},
          {Op::FusedBias, bias},
          {Op::BiasBackward, bias_backward},
          {Op::FusedBiasBackward, bias_backward},
          {Op::Positions, bias},
          {Op::PositionsBackward, bias_backward}};
}

}  // namespace regatta::cuda
