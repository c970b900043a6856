// SPDX-License-Identifier: Apache-2.0
//
// Tests GPU memory, queue marks, and the findings and errors for --device cuda.
#include "kernels/cuda/device/emulated_for_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "kernels/base/error_for_test.h"
#include "kernels/cuda/device/late_device_for_test.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::cuda {
namespace {

using testing_support::kDevices;
using testing_support::name_of_device;

class DeviceMemory : public testing_support::OnDevices {};
INSTANTIATE_TEST_SUITE_P(On, DeviceMemory, kDevices, name_of_device);

TEST_P(DeviceMemory, IsZeroedAndAligned) {
  constexpr std::int64_t kBytes = 1 << 20;
  const char* memory = allocate<char>(kBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
  const std::vector<char> bytes = read(memory, kBytes);
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 0), kBytes);
  EXPECT_NE(allocate<char>(0), nullptr);
}

TEST_P(DeviceMemory, IsReachedByTheHostThroughItsDeviceAlone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const int* const memory = upload<int>({0, 2, 3});
  EXPECT_EQ(read(memory, 3), (std::vector<int>{0, 2, 3}));
  // Dies by a signal or a sanitizer's report; a process that can read the memory exits with 0.
  EXPECT_DEATH(std::exit(*const_cast<const volatile int*>(memory)), "");
}

TEST_P(DeviceMemory, IsRefusedWhereThereIsNotSoMuch) {
  const std::string error =
      regatta::testing_support::error_of([this] { allocate<char>(std::int64_t{1} << 50); });
  EXPECT_NE(error.find("use a smaller batch"), std::string::npos) << error;
}

class QueueMarks : public testing_support::OnDevices {};
INSTANTIATE_TEST_SUITE_P(On, QueueMarks, kDevices, name_of_device);

TEST_P(QueueMarks, AreAsFarApartAsTheWorkBetweenThem) {
  constexpr std::int64_t kBytes = 64 << 20;
  char* const from = allocate<char>(kBytes);
  char* const to = allocate<char>(kBytes);
  const auto begin = queue().make_mark(), middle = queue().make_mark(), end = queue().make_mark();
  queue().begin_step({});
  queue().copy(to, from, kBytes);  // absorbs the cost of a late start
  begin->put();
  queue().copy(to, from, 4);
  middle->put();
  queue().copy(to, from, kBytes);
  end->put();
  queue().finish();
  EXPECT_GE(middle->ns_since(*begin), 0);
  EXPECT_GT(end->ns_since(*middle), middle->ns_since(*begin));
  EXPECT_NEAR(end->ns_since(*begin), middle->ns_since(*begin) + end->ns_since(*middle), 2000);
}

TEST(QueueMark, IsReachedInItsTurnWhereAQueueKeepsItsWork) {
  constexpr std::chrono::milliseconds kWork{3};
  testing_support::LateGpu gpu;
  testing_support::LateQueue queue(gpu);
  const auto begin = queue.make_mark(), end = queue.make_mark();
  begin->put();
  queue.enqueue([=] { std::this_thread::sleep_for(kWork); });
  end->put();
  std::this_thread::sleep_for(60 * kWork);
  queue.finish();
  EXPECT_GE(end->ns_since(*begin), 0.950e6 * kWork.count());
  EXPECT_LT(end->ns_since(*begin), 50e6 * kWork.count());
}

TEST(PinnedHost, IsZeroedAndCopiedToAndFromByAQueueOfAGpu) {
  if (const GpuFindings found = find_gpus(); !found.missing.empty()) GTEST_SKIP() << found.missing;
  const std::unique_ptr<Device> host = make_pinned_host(), gpu = make_cuda_device(0);
  constexpr std::int64_t kBytes = 1 << 20;
  auto* const first = static_cast<char*>(host->allocate(kBytes));
  auto* const last = static_cast<char*>(host->allocate(kBytes));
  void* const between = gpu->allocate(kBytes);
  EXPECT_EQ(std::count(first, first + kBytes, 0), kBytes);
  std::fill_n(first, kBytes, 'x');
  const std::unique_ptr<LaneQueue> queue = gpu->make_queue();
  queue->copy(between, first, kBytes);
  queue->copy(last, between, kBytes);
  queue->finish();
  EXPECT_EQ(std::count(last, last + kBytes, 'x'), kBytes);
  gpu->release(between);
  host->release(first);
  host->release(last);
}

TEST(Gpus, AreThereOrItIsSaidWhyNot) {
  const GpuFindings found = find_gpus();
  EXPECT_NE(found.toolkit, "");
  EXPECT_NE(found.gpus.empty(), found.missing.empty());
  for (const GpuFacts& gpu : found.gpus) EXPECT_GT(gpu.memory_bytes, 0) << gpu.name;
  if (found.missing.empty()) return;
  EXPECT_NE(found.missing.find("--device cpu"), std::string::npos) << found.missing;
  EXPECT_EQ(regatta::testing_support::error_of([] { make_cuda_device(0); }, ErrorKind::Device),
            found.missing);
}

TEST(Gpus, HaveLibrariesOrItIsSaidWhatToInstall) {
  const std::vector<GpuLibrary> libraries = find_gpu_libraries();
  EXPECT_EQ(libraries.size(), 3U);
  for (const GpuLibrary& library : libraries) {
    EXPECT_NE(library.version.empty(), library.missing.empty()) << library.name;
    if (library.version.empty()) {
      EXPECT_NE(library.missing.find("install " + library.package), std::string::npos)
          << library.missing;
    } else {
      EXPECT_EQ(std::count(library.version.begin(), library.version.end(), '.'), 2);
    }
  }
}

}  // namespace
}  // namespace regatta::cuda
