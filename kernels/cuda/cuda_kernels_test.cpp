// SPDX-License-Identifier: Apache-2.0
//
// Tests the kernel table and its error for a missing kernel. The CPU's tests of ops check the
// kernels' results (subjects_for_test.cpp).
#include <set>

#include "kernels/base/error_for_test.h"
#include "kernels/cpu/test_support.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::cuda {
namespace {

using namespace cpu::test;

KernelTable filled_table() {
  KernelTable table("cuda");
  add_cuda_kernels(table);
  return table;
}

TEST(CudaKernels, ComputeEveryOpButMessagesAndWhatServersAndPeersDo) {
  const std::set<Op> elsewhere{Op::Reshape, Op::Slice,   Op::Send,   Op::Sent,
                               Op::Receive, Op::Arrival, Op::Quorum, Op::AverageWith};
  const KernelTable table = filled_table();
  for (const OpInfo& info : all_ops()) {
    EXPECT_EQ(table.has(info.op), !elsewhere.contains(info.op)) << info.name;
  }
}

TEST(CudaKernels, AreComparedWithTheReferenceOnAGpuToo) {
  const GpuFindings found = find_gpus();
  if (!found.missing.empty()) GTEST_SKIP() << found.missing;
  EXPECT_EQ(subjects().size(), 4U);
}

TEST(CudaKernels, SayWhichElementTypeTheyDoNotCompute) {
  const OpCase op_case{Op::Relu, {}, {random_labels(4, 3, 1)}, {}, "relu of integers"};
  for (const Subject& subject : subjects()) {
    const std::string error = regatta::testing_support::error_of([&] { subject.run(op_case, 1); },
                                                                 ErrorKind::Unsupported);
    EXPECT_NE(error.find("i32"), std::string::npos) << error;
    EXPECT_NE(error.find("'cuda'"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace regatta::cuda
