// SPDX-License-Identifier: Apache-2.0
//
// A node's piecewise linear schedule (kernels/runtime/schedule.h) in device memory, for GPU
// kernels. For .cu files only.
#pragma once

#include <span>
#include <vector>

#include "kernels/cuda/device/upload.h"
#include "kernels/graph/attributes.h"
#include "kernels/runtime/schedule.h"

namespace regatta::cuda {

/// Returns the schedule's value after `seen` examples. Units: examples seen by all loops together.
struct DeviceSchedule {
  const double* examples;
  const double* values;
  std::int64_t points;

  __host__ __device__ double operator()(std::int64_t seen) const {
    return scheduled(examples, values, points, seen);
  }
};

/// Owns the device memory of a schedule.
class UploadedSchedule {
 public:
  UploadedSchedule(const Queue& queue, const Attributes& attributes)
      : points_(static_cast<std::int64_t>(attributes.reals("schedule_examples").size())),
        memory_(upload<double>(queue, joined(attributes))) {}

  DeviceSchedule schedule() const {
    const auto* numbers = memory_.as<double>();
    return {.examples = numbers, .values = numbers + points_, .points = points_};
  }

 private:
  static std::vector<double> joined(const Attributes& attributes) {
    std::vector<double> numbers = attributes.reals("schedule_examples");
    const std::vector<double>& values = attributes.reals("schedule_values");
    numbers.insert(numbers.end(), values.begin(), values.end());
    return numbers;
  }

  std::int64_t points_;
  Scratch memory_;
};

}  // namespace regatta::cuda
