// SPDX-License-Identifier: Apache-2.0
//
// The table, and what it says where it has no kernel. What kernels compute is tested by the CPU's
// tests of ops (subjects_for_test.cpp).
#include <set>

#include "kernels/cpu/test_support.h"
#include "kernels/cuda/device.h"
#include "kernels/graph/error.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::cuda {
namespace {

using cpu::test::Array;
using cpu::test::OpCase;
using cpu::test::random_array;
using cpu::test::random_labels;
using cpu::test::Subject;
using cpu::test::subjects;

KernelTable filled_table() {
  KernelTable table("cuda");
  add_cuda_kernels(table);
  return table;
}

TEST(CudaKernels, ComputeEveryOpButWhatCommunicatesAndWhatServersDo) {
  const std::set<Op> elsewhere{Op::Reshape,   Op::Slice,   Op::Send,  Op::Receive,
                               Op::AllReduce, Op::Arrival, Op::Quorum};
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
    try {
      subject.run(op_case, 1);
      FAIL() << "no error";
    } catch (const RunError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
      EXPECT_NE(std::string(error.what()).find("i32"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("'cuda'"), std::string::npos) << error.what();
    }
  }
}

/// An op on one shared variable, on the emulated device.
std::unique_ptr<Kernel> build_shared(Op op, const Array& value, VariableStorage& storage) {
  static const std::unique_ptr<Device> device = make_emulated_device();
  static const std::unique_ptr<LaneQueue> queue = device->make_queue();
  const Array copy(value.type);
  const std::vector<Tensor> tensors{copy.tensor()};
  const std::vector<VariableStorage*> variables{&storage, &storage};
  const Node node{.op = op};
  return filled_table().build({.node = node,
                               .inputs = tensors,
                               .outputs = tensors,
                               .variables = variables,
                               .versions_seen = {},
                               .queue = queue.get()});
}

TEST(CudaKernels, SayThatTheyLeaveSharedVariablesToTheCpu) {
  const Array value = random_array({10}, 1);
  VariableStorage storage;
  storage.tensor = value.tensor();
  storage.sharing = Sharing::Relaxed;
  for (const Op op : {Op::Read, Op::Sgd, Op::Adam, Op::Lookahead, Op::Normalize}) {
    try {
      build_shared(op, value, storage);
      FAIL() << "no error";
    } catch (const RunError& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
      EXPECT_NE(std::string(error.what()).find("--device cpu"), std::string::npos) << error.what();
    }
  }
}

TEST(Read, CopiesAVariable) {
  const OpCase op_case{Op::Read, {}, {}, {random_array({7, 3}, 1)}, "read"};
  cpu::test::expect_agrees(op_case, {});
}

}  // namespace
}  // namespace regatta::cuda
