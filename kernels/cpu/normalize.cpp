// SPDX-License-Identifier: Apache-2.0
//
// normalize and fused_normalize: statistics in one pass over each group, y in a second. A pool
// before belongs to the first pass, so that the second reads only the picked values; a pool after
// belongs to the second. Activation and residual cost no pass.

#include "kernels/base/error.h"
#include "kernels/cpu/element.h"
#include "kernels/cpu/group_statistics.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

using Pool = Fusion::Pool;

template <typename T, typename Function>
class Normalize {
 public:
  Normalize(const KernelRequest& request, const Fusion& fusion)
      : pool_(fusion.pool),
        windows_(request.inputs[0].type, fusion.window),
        x_(request.inputs[0].as<T>()),
        residual_(request.inputs.size() > 3 ? request.inputs[3].as<T>() : nullptr),
        y_(request.outputs[0].as<T>()),
        picked_(pool_ == Pool::None ? nullptr : request.outputs[3].as<T>()),
        positions_(pool_ == Pool::None ? nullptr : request.outputs[4].as<std::uint8_t>()),
        groups_(pool_ == Pool::Before ? request.outputs[3].type : request.inputs[0].type,
                request.outputs[1].type.dim(0), request.threads),
        statistics_(request, groups_) {
    check(groups_.rows > 1, "normalize: the variance of a single value is not defined");
  }

  void operator()(const StepContext&) {
    if (groups_.sliced) {
      for (std::int64_t group = 0; group < groups_.count; ++group) find_pivot(group);
    }
    groups_.run(
        [&](std::int64_t group, int part) {
          if (!groups_.sliced) find_pivot(group);
          measure(group, part);
        },
        [&](std::int64_t group) { statistics_.finish(group); },
        [&](std::int64_t group, int part) { apply(group, part); });
    statistics_.update_running();
  }

 private:
  void find_pivot(std::int64_t group) const {
    const std::int64_t first = group * groups_.examples;
    if (pool_ != Pool::Before) {
      statistics_.find_pivot(group, x_ + first * windows_.image(), groups_.rows);
      return;
    }
    Windows row = windows_;
    row.rows = 1;
    const std::int64_t pooled = first * windows_.pooled_image();
    pool_image(row, x_ + first * windows_.image(), picked_ + pooled, positions_ + pooled);
    statistics_.find_pivot(group, picked_ + pooled, row.columns);
  }

  void measure(std::int64_t group, int part) {
    statistics_.begin(part);
    if (pool_ == Pool::Before) {
      const Range examples = groups_.whole_examples(group, part);
      for (std::int64_t b = examples.begin; b < examples.end; ++b) {
        pool_image(windows_, x_ + b * windows_.image(), picked_ + b * windows_.pooled_image(),
                   positions_ + b * windows_.pooled_image());
        statistics_.add(group, part, picked_, groups_.elements_of({b, b + 1}));
      }
    } else {
      statistics_.add(group, part, x_, groups_.elements(group, part));
    }
    statistics_.end(group, part);
  }

  void apply(std::int64_t group, int part) const {
    const Line& line = statistics_.line(group);
    const Range examples = groups_.whole_examples(group, part);
    switch (pool_) {
      case Pool::None:
        line.apply<Function>(x_, residual_, y_, groups_.elements(group, part));
        return;
      case Pool::Before:
        line.apply<Function>(picked_, residual_, y_, groups_.elements_of(examples));
        return;
      case Pool::After:
        for (std::int64_t b = examples.begin; b < examples.end; ++b) {
          const std::int64_t pooled = b * windows_.pooled_image();
          line.apply_and_pool<Function>(windows_, x_ + b * windows_.image(), y_ + pooled,
                                        picked_ + pooled, positions_ + pooled);
        }
        return;
    }
  }

  Pool pool_;
  Windows windows_;
  const T* x_;
  const T* residual_;
  T* y_;
  T* picked_;
  std::uint8_t* positions_;
  Groups groups_;  ///< of the values that are normalised
  GroupStatistics statistics_;
};

KernelPointer normalize(const KernelRequest& request) {
  const Fusion fusion = fusion_of(request.node.attributes);
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) {
    return with_activation(fusion.activation, [&]<typename Function>(Function) {
      return make_kernel(Normalize<T, Function>(request, fusion));
    });
  });
}

}  // namespace

KernelRows normalize_kernels() {
  return {{Op::Normalize, normalize}, {Op::FusedNormalize, normalize}};
}

}  // namespace regatta::cpu
