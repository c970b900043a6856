// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/devices.h"

#include <set>

#include "kernels/base/error_for_test.h"
#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

using regatta::testing_support::error_of;

TEST(CpuKernels, ComputeEveryOpThatDoesNotCrossProcessesAndIsNotAView) {
  const std::set<Op> elsewhere{Op::Reshape, Op::Slice,     Op::Send,          Op::Sent,
                               Op::Receive, Op::AllReduce, Op::ReduceScatter, Op::AllGather};
  for (const OpInfo& info : all_ops()) {
    EXPECT_EQ(cpu_table().has(info.op), !elsewhere.contains(info.op)) << info.name;
  }
}

TEST(CpuKernels, SayWhichElementTypeTheyDoNotCompute) {
  const Array labels = random_labels(4, 3, 1);
  const std::string error = error_of(
      [&] {
        run_op(cpu_table(), {Op::Relu, {}, {labels}, {}, "relu of integers"}, 1);
      },
      ErrorKind::Unsupported);
  EXPECT_NE(error.find("i32"), std::string::npos) << error;
}

TEST(CpuKernels, QuoteOneDnnWhereItHasNoImplementation) {
  const Array x = random_array({2, 4, 4, 3}, 1);
  const Array w({ElementType::I32, {5, 3, 3, 3}});
  const Attributes window{
      {"kernel", std::int64_t{3}}, {"stride", std::int64_t{1}}, {"padding", std::int64_t{1}}};
  const std::string error = error_of(
      [&] {
        run_op(cpu_table(), {Op::Convolution, window, {x, w}, {}, "mixed types"}, 1);
      },
      ErrorKind::Unsupported);
  EXPECT_NE(error.find("oneDNN: "), std::string::npos) << error;
  EXPECT_NE(error.find("convolution_onednn.cpp:"), std::string::npos);
}

}  // namespace
}  // namespace regatta::cpu::test
