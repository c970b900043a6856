// SPDX-License-Identifier: Apache-2.0
//
// The split of a step and the limits of its kernels: with made-up numbers, and as step_bench
// measures them on an emulated GPU and, if there is one, on a real one.
#include "harness/bench/gpu_step_bench.h"

#include <gtest/gtest.h>

#include "harness/plan/placement.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "workloads/data/curve.h"

namespace regatta::bench {
namespace {

using namespace cuda::testing_support;
using Json = nlohmann::ordered_json;

constexpr std::int64_t kBatch = 16;

TEST(QueueSplit, IsKernelsGapsAndTheRestWhichAreTheStep) {
  const QueueSplit split = split_of({{.ms = 10, .kernels = {{0, 2}, {3, 5}, {5, 8}}}});
  EXPECT_EQ(split.kernel_ms, (std::vector<double>{2, 2, 3}));
  EXPECT_EQ(split.gap_ms, (std::vector<double>{0, 1, 0}));
  EXPECT_EQ(split.kernels_ms, 7);
  EXPECT_EQ(split.gaps_ms, 1);
  EXPECT_EQ(split.outside_ms, 2);
}

TEST(QueueSplit, IsTheMeanOfTheStepsThatNothingDisturbed) {
  const auto step = [](double kernel, double rest) {
    return MeasuredStep{.ms = kernel + rest, .kernels = {{0, kernel}}};
  };
  const QueueSplit split =
      split_of({step(100, 1), step(2, 1), step(4, 1), step(0.5, 0.1)});  // 2 and 4 are usual
  EXPECT_EQ(split.kernels_ms, 3);
  EXPECT_EQ(split.outside_ms, 1);
  EXPECT_EQ(split.step_ms, 4);
}

/// Peaks: 100 GFLOP/s in f32, 1000 GFLOP/s in bf16, 10 GB/s.
Peaks peaks() {
  return {.flop = {{ElementType::F32, 100e9}, {ElementType::BF16, 1000e9}}, .bytes = 10e9};
}

TEST(Roofline, TakesTheLargerBoundAsTheLimit) {
  // 1 GFLOP takes 10 ms in f32 and 1 ms in bf16; 50 MB take 5 ms.
  const KernelLoad f32{.element = ElementType::F32, .flop = 1e9, .bytes = 50e6};
  const Roof by_products = roof_of(f32, 12.5, peaks());
  EXPECT_DOUBLE_EQ(by_products.bound_ms, 10);
  EXPECT_EQ(by_products.limit, Limit::Products);
  EXPECT_DOUBLE_EQ(by_products.efficiency, 0.8);
  const KernelLoad bf16{.element = ElementType::BF16, .flop = 1e9, .bytes = 50e6};
  const Roof by_memory = roof_of(bf16, 12.5, peaks());
  EXPECT_DOUBLE_EQ(by_memory.bound_ms, 5);
  EXPECT_EQ(by_memory.limit, Limit::Memory);
  EXPECT_DOUBLE_EQ(by_memory.efficiency, 0.4);
  EXPECT_TRUE(by_products.is_near());
  EXPECT_FALSE(by_memory.is_near());
  EXPECT_TRUE(roof_of(bf16, 5 / 0.6 - 1e-9, peaks()).is_near());
}

KernelTiming row(const std::string& op, const KernelLoad& load, double ms) {
  return {.op = op, .layer = "a", .choice = "", .load = load, .ms = ms, .gap_ms = 0.25};
}

TEST(GpuStep, TellsTheShareOfEachLimit) {
  const KernelLoad products{.element = ElementType::BF16, .flop = 8e9, .bytes = 1e6};  // 8 ms
  const KernelLoad moves{.bytes = 30e6};                                               // 3 ms
  const std::vector<KernelTiming> rows{row("convolution", products, 10),
                                       row("convolution", products, 20), row("add", moves, 4),
                                       row("add", moves, 6)};
  const QueueSplit split{.step_ms = 50,
                         .kernels_ms = 40,
                         .gaps_ms = 1,
                         .outside_ms = 9,
                         .kernel_ms = {},
                         .gap_ms = {}};
  const Json report = gpu_step_report(rows, split, 45, peaks());
  const auto share = [&](const char* limit) {
    return report["limits"][limit]["share_of_step"].get<double>();
  };
  EXPECT_DOUBLE_EQ(share("tensor cores"), 0.2);  // the first kernel, at 0.8
  EXPECT_DOUBLE_EQ(share("memory bus"), 0.08);   // the third kernel, at 0.75
  EXPECT_DOUBLE_EQ(share("neither"), 0.52);      // the others, at 0.4 and 0.5
  EXPECT_EQ(report["step_as_one"]["outside_kernels_ms"], 5);
  const Json& convolution = report["ops"]["convolution"];
  EXPECT_EQ(convolution["ms"], 30);
  EXPECT_EQ(convolution["kernels"], 2);
  EXPECT_EQ(convolution["gap_ms"], 0.5);
  EXPECT_DOUBLE_EQ(convolution["efficiency"].get<double>(), 16.0 / 30);
  EXPECT_EQ(convolution["limit"], "tensor cores");
  EXPECT_EQ(report["ops"]["add"]["limit"], "memory bus");
}

/// Runs step_bench's measurement on a device, with small peaks.
class GpuStepOn : public testing::TestWithParam<On> {
 protected:
  void SetUp() override { make_device(GetParam(), device_); }

  Json measure(const std::string& workload, const std::string& dtype, const DataSet& data) {
    plan::RaceRequest request;
    request.workload = workload;
    request.dtype = dtype;
    request.device = "cuda";
    request.global_batch = kBatch;
    request.steps = 1000;
    plan::Placement placement = plan::place(request, data.count);
    plan::set_data_weights(placement, workloads::data_weights_of(*placement.workload, data));
    part_ = placement.placed->parts.front();
    KernelTable kernels("cuda");
    add_cuda_kernels(kernels);
    return measure_gpu_step(*device_, kernels, part_, data,
                            {.batch = kBatch,
                             .warm_up = 1,
                             .steps = 2,
                             .cores = {},
                             .peaks = {.side = 64, .elements = 100'000}});
  }

  /// Checks the sums of any report.
  void expect_sums(const Json& report) {
    const Json& step = report["step"];
    const double step_ms = step["ms"], kernels_ms = step["kernels_ms"], gaps_ms = step["gaps_ms"];
    EXPECT_NEAR(kernels_ms + gaps_ms + step["outside_ms"].get<double>(), step_ms, 1e-9 * step_ms);
    EXPECT_GT(step["outside_ms"].get<double>(), 0);
    double by_op = 0, by_kernel = 0, gaps = 0, by_limit = 0;
    for (const auto& [op, of] : report["ops"].items()) by_op += of["ms"].get<double>();
    for (const Json& kernel : report["kernels"]) {
      EXPECT_GT(kernel["ms"].get<double>(), 0) << kernel;
      EXPECT_GE(kernel["gap_ms"].get<double>(), 0) << kernel;
      by_kernel += kernel["ms"].get<double>();
      gaps += kernel["gap_ms"].get<double>();
    }
    for (const auto& [limit, of] : report["limits"].items()) by_limit += of["ms"].get<double>();
    for (const double sum : {by_op, by_kernel, by_limit}) {
      EXPECT_NEAR(sum, kernels_ms, 1e-9 * kernels_ms);
    }
    EXPECT_NEAR(gaps, gaps_ms, 1e-9 * gaps_ms);
    EXPECT_GT(report["step_as_one"]["ms"].get<double>(), 0);
    EXPECT_GT(report["peaks"]["memory_bus_gb_per_s"].get<double>(), 0);
  }

  const Step& part() const { return part_; }

 private:
  std::unique_ptr<Device> device_;
  Step part_;
};
INSTANTIATE_TEST_SUITE_P(On, GpuStepOn, kDevices, name_of_device);

TEST_P(GpuStepOn, SplitsAStepOfTheParabola) {
  const DataSet data = workloads::make_curve();
  const Json report = measure("parabola", "f32", data);
  expect_sums(report);
  EXPECT_EQ(report["ops"]["dense"]["kernels"], 2);
  EXPECT_GT(report["peaks"]["tflop_per_s"]["f32 products"].get<double>(), 0);
}

}  // namespace
}  // namespace regatta::bench
