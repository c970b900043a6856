// SPDX-License-Identifier: Apache-2.0
//
// muon: loops for the direction and the polynomial; kernels of other ops compute the rest
// (kernels/runtime/muon.h).
#include "kernels/runtime/muon.h"

#include <cmath>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/cuda/ops/shared_variable.h"

namespace regatta::cuda {

KernelRows dense_kernels(), clip_kernels(), sgd_kernels();

namespace {

struct MuonDirection {
  Shards shards;
  const float* g;
  float* momentum;
  float* d;
  float keep;
  float take;

  __host__ __device__ void operator()(const Block& block) const {
    shards.for_each_pack(block, [&](std::int64_t first, int width) {
      float m[kSharedWidth] = {};
      load_relaxed(momentum + first, width, m);
      for (int j = 0; j < kSharedWidth; ++j) {  // unrolled: m is in registers
        if (j >= width) break;
        m[j] = keep * m[j] + take * g[first + j];
        d[first + j] = take * g[first + j] + keep * m[j];
      }
      store_relaxed(momentum + first, width, m);
    });
  }
};

KernelPointer muon_direction(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const double keep = request.node.attributes.real("momentum");
  const MuonDirection body{.shards = Shards(*request.variables[0]),
                           .g = request.inputs[0].f32(),
                           .momentum = request.variables[1]->tensor.f32(),
                           .d = request.outputs[0].f32(),
                           .keep = static_cast<float>(keep),
                           .take = static_cast<float>(1 - keep)};
  return make_kernel([=](const StepContext&) {
    for_each_block(*queue, body.shards.blocks(), Shards::kThreads, 0, body);
  });
}

template <typename T>
struct MuonNormalize {
  const float* d;
  const float* square;
  T* x;

  __host__ __device__ void operator()(std::int64_t i) const {
    store(x[i], d[i] / fmaxf(sqrtf(*square), 1e-7F));
  }
};

KernelPointer muon_normalize(const KernelRequest& request) {
  const Tensor d = request.inputs[0], square = request.inputs[1], x = request.outputs[0];
  return with_element(x.type.element, [&]<typename T>(T) {
    const MuonNormalize<T> body{d.f32(), square.f32(), x.as<T>()};
    return make_kernel([=, queue = &queue_of(request), count = d.elements()](const StepContext&) {
      for_each(*queue, count, body);
    });
  });
}

struct MuonRescale {
  Shards shards;
  const float* square;
  float* w;
  float norm;

  __host__ __device__ void operator()(const Block& block) const {
    const float factor = norm / sqrtf(*square);
    shards.for_each_pack(block, [&](std::int64_t first, int width) {
      float own[kSharedWidth] = {};
      load_relaxed(w + first, width, own);
      for (int j = 0; j < kSharedWidth; ++j) own[j] *= factor;
      store_relaxed(w + first, width, own);
    });
  }
};

KernelPointer muon_rescale(const KernelRequest& request) {
  Queue* queue = &queue_of(request);
  const MuonRescale body{.shards = Shards(*request.variables[0]),
                         .square = request.inputs[0].f32(),
                         .w = request.variables[0]->tensor.f32(),
                         .norm = static_cast<float>(request.node.attributes.real("norm"))};
  return make_kernel([=](const StepContext&) {
    for_each_block(*queue, body.shards.blocks(), Shards::kThreads, 0, body);
  });
}

template <typename T>
struct MuonPolynomial {
  const T* a;
  T* p;
  std::int64_t side;
  float constant, linear, quadratic;

  __host__ __device__ void operator()(std::int64_t i) const {
    const float identity = i % (side + 1) == 0 ? constant : 0;
    store(p[i], identity + linear * load(a[i]) + quadratic * load(p[i]));
  }
};

KernelPointer muon_polynomial(const KernelRequest& request) {
  const Tensor a = request.inputs[0], p = request.outputs[0];
  const double factor = request.node.attributes.real("factor");
  const auto coefficient = [=](std::size_t power) {
    return static_cast<float>(factor * MuonOptions::kPolynomial[power]);
  };
  return with_element(p.type.element, [&]<typename T>(T) {
    const MuonPolynomial<T> body{.a = a.as<T>(),
                                 .p = p.as<T>(),
                                 .side = a.type.columns(),
                                 .constant = coefficient(0),
                                 .linear = coefficient(1),
                                 .quadratic = coefficient(2)};
    return make_kernel([=, queue = &queue_of(request), count = p.elements()](const StepContext&) {
      for_each(*queue, count, body);
    });
  });
}

KernelPointer muon(const KernelRequest& request) {
  if (request.inputs[0].type.element != ElementType::F32) return nullptr;
  MuonKernels kernels{.table = KernelTable("cuda"),
                      .direction = muon_direction,
                      .normalize = muon_normalize,
                      .rescale = muon_rescale,
                      .polynomial = muon_polynomial};
  for (const auto rows : {dense_kernels, clip_kernels, sgd_kernels}) kernels.table.add(rows());
  return MuonBuilder(request, kernels).build();
}

}  // namespace

KernelRows muon_kernels() { return {{Op::Muon, muon}}; }

}  // namespace regatta::cuda
