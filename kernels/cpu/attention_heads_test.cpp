// SPDX-License-Identifier: Apache-2.0
//
// How attention deals heads to threads, and the scratch memory that it takes.
#include "kernels/cpu/test_support.h"
#include "kernels/runtime/scratch.h"

namespace regatta::cpu::test {
namespace {

constexpr std::int64_t kChannels = 2 * 24;

OpCase forward(std::int64_t batch, std::int64_t tokens) {
  return {Op::Attention,
          {{"heads", std::int64_t{2}}},
          {random_array({batch, tokens, 3 * kChannels}, 1)},
          {},
          "attention"};
}

OpCase backward(std::int64_t batch, std::int64_t tokens) {
  const OpCase before = forward(batch, tokens);
  const OpResult result = run_op(cpu_table(), before, 1);
  return {Op::AttentionBackward,
          before.attributes,
          {random_array({batch, tokens, kChannels}, 2), before.inputs[0], result.outputs[0],
           result.outputs[1]},
          {},
          "attention_backward"};
}

TEST(AttentionHeads, GiveTheSameBitsOnAnyNumberOfThreads) {
  for (const OpCase& op_case : {forward(2, 37), backward(2, 37)}) {  // four heads
    const OpResult one = run_op(cpu_table(), op_case, 1);
    for (const int threads : {2, 3, 5}) {
      expect_same_bits(run_op(cpu_table(), op_case, threads).outputs, one.outputs, op_case.name);
    }
  }
}

std::size_t scratch_bytes(const OpCase& op_case) {
  const Scratch::Scope lane;
  const BuiltOp op(cpu_table(), op_case, 1);
  return Scratch::of_the_lane()->bytes();
}

TEST(AttentionHeads, TakeMemoryThatIsLinearInTheContext) {
  for (const auto make : {forward, backward}) {
    const std::size_t bytes = scratch_bytes(make(1, 512));
    EXPECT_GT(bytes, 512 * kChannels / 2 * sizeof(float));
    EXPECT_LE(scratch_bytes(make(1, 1024)), 2 * bytes);
  }
}

}  // namespace
}  // namespace regatta::cpu::test
