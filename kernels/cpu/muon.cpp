// SPDX-License-Identifier: Apache-2.0
//
// muon: loops for the direction and the polynomial; kernels of other ops compute the rest
// (kernels/runtime/muon.h).
#include "kernels/runtime/muon.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/shared_update.h"

namespace regatta::cpu {

KernelRows dense_kernels(), clip_kernels(), sgd_kernels();

namespace {

KernelPointer direction(const KernelRequest& request) {
  const float* g = request.inputs[0].f32();
  float* d = request.outputs[0].f32();
  float* momentum = request.variables[1]->tensor.f32();
  const int parts = parts_for(request.threads, request.inputs[0].elements());
  const double share = request.node.attributes.real("momentum");
  const auto keep = static_cast<float>(share), take = static_cast<float>(1 - share);
  return make_kernel([=, parameter = request.variables[0]](const StepContext&) {
    access_slot(*parameter, parts, [=](auto access, std::int64_t begin, std::int64_t end) {
      using Access = decltype(access);
#pragma omp simd if (simd : Access::kVectors)
      for (std::int64_t i = begin; i < end; ++i) {
        const float m = keep * Access::load(momentum + i) + take * g[i];
        Access::store(momentum + i, m);
        d[i] = take * g[i] + keep * m;
      }
    });
  });
}

KernelPointer normalize(const KernelRequest& request) {
  const Tensor d = request.inputs[0], square = request.inputs[1], x = request.outputs[0];
  const int parts = parts_for(request.threads, d.elements());
  return with_element(x.type.element, [=]<typename T>(T) {
    return make_kernel([=, count = d.elements()](const StepContext&) {
      const float factor = 1 / std::max(std::sqrt(*square.f32()), 1e-7F);
      parallel_ranges(parts, count, [&](std::int64_t begin, std::int64_t end) {
        for_each_lanes(end - begin, [&](auto i, auto lanes) {
          store_lanes(x.as<T>() + begin + i, factor * load_lanes(d.f32() + begin + i, lanes),
                      lanes);
        });
      });
    });
  });
}

KernelPointer rescale(const KernelRequest& request) {
  const float* square = request.inputs[0].f32();
  const Tensor w = request.variables[0]->tensor;
  const int parts = parts_for(request.threads, w.elements());
  const double norm = request.node.attributes.real("norm");
  return make_kernel([=, parameter = request.variables[0]](const StepContext&) {
    const auto factor = static_cast<float>(norm / std::sqrt(*square));
    access_slot(*parameter, parts, [=](auto access, std::int64_t begin, std::int64_t end) {
      using Access = decltype(access);
#pragma omp simd if (simd : Access::kVectors)
      for (std::int64_t i = begin; i < end; ++i) {
        Access::store(w.f32() + i, factor * Access::load(w.f32() + i));
      }
    });
  });
}

KernelPointer polynomial(const KernelRequest& request) {
  const Tensor a = request.inputs[0], p = request.outputs[0];
  const std::int64_t side = a.type.columns();
  const int parts = parts_for(request.threads, a.elements());
  const double factor = request.node.attributes.real("factor");
  float c[3];
  for (std::size_t k = 0; k < 3; ++k) {
    c[k] = static_cast<float>(factor * MuonOptions::kPolynomial[k]);
  }
  return with_element(p.type.element, [=]<typename T>(T) {
    return make_kernel([=](const StepContext&) {
      parallel_parts(parts, [&](int part) {
        const Range mine = share(side, parts, part);
        for (std::int64_t row = mine.begin; row < mine.end; ++row) {
          const T* const from = a.as<T>() + row * side;
          T* const to = p.as<T>() + row * side;
          const float diagonal = c[0] + c[1] * load(from[row]) + c[2] * load(to[row]);
          for_each_lanes(side, [&](auto i, auto lanes) {
            store_lanes(to + i,
                        c[1] * load_lanes(from + i, lanes) + c[2] * load_lanes(to + i, lanes),
                        lanes);
          });
          store(to[row], diagonal);
        }
      });
    });
  });
}

KernelPointer muon(const KernelRequest& request) {
  if (request.inputs[0].type.element != ElementType::F32) return nullptr;
  MuonKernels kernels{.table = KernelTable("cpu"),
                      .direction = direction,
                      .normalize = normalize,
                      .rescale = rescale,
                      .polynomial = polynomial};
  for (const auto rows : {dense_kernels, clip_kernels, sgd_kernels}) kernels.table.add(rows());
  return MuonBuilder(request, kernels).build();
}

}  // namespace

KernelRows muon_kernels() { return {{Op::Muon, muon}}; }

}  // namespace regatta::cpu
