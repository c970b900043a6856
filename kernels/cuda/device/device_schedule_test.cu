// SPDX-License-Identifier: Apache-2.0
//
// Compares schedules in a GPU's memory with those that the CPU evaluates.
#include <gtest/gtest.h>

#include "kernels/cuda/device/device_schedule.h"
#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/device/on_devices_for_test.h"

namespace regatta::cuda {
namespace {

using testing_support::kDevices;
using testing_support::name_of_device;

class Schedules : public testing_support::OnDevices {};
INSTANTIATE_TEST_SUITE_P(On, Schedules, kDevices, name_of_device);

struct Evaluate {
  DeviceSchedule schedule;
  double* results;
  __host__ __device__ void operator()(std::int64_t seen) const { results[seen] = schedule(seen); }
};

TEST_P(Schedules, AreEvaluatedLikeTheCpus) {
  constexpr std::int64_t kExamples = 120;
  const std::vector<std::pair<std::vector<double>, std::vector<double>>> cases{
      {{0}, {0.5}}, {{10, 20, 100}, {0.1, 3, -1}}, {{0, 0, 50}, {1, 2, 3}}};
  for (const auto& [examples, values] : cases) {
    const Attributes attributes{{"schedule_examples", examples}, {"schedule_values", values}};
    const UploadedSchedule uploaded(queue(), attributes);
    auto* const on_device = allocate<double>(kExamples);
    for_each(queue(), kExamples, Evaluate{uploaded.schedule(), on_device});
    queue().finish();
    const std::vector<double> results = read(on_device, kExamples);
    const ScheduleFunction expected(attributes);
    for (std::int64_t seen = 0; seen < kExamples; ++seen) {
      EXPECT_NEAR(results[static_cast<std::size_t>(seen)], expected(seen), 1e-15) << seen;
    }
  }
}

}  // namespace
}  // namespace regatta::cuda
