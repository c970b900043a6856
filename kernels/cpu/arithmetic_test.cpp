// SPDX-License-Identifier: Apache-2.0
//
// add, scale, sum, cast, copy, and read of shared variables.
#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

const Dims kSizes[] = {{}, {5}, {3, 7, 11, 3}, {2, 40, 40, 24}};
constexpr Bound kOneRounding{.absolute = 0x1p-24, .relative = 0x1p-23};

TEST(Add, AgreesWithTheReference) {
  for (const Dims& dims : kSizes) {
    const OpCase op_case{Op::Add, {}, {random_array(dims, 1), random_array(dims, 2)}, {}, "add"};
    expect_agrees(op_case, kOneRounding);
    expect_agrees_in_bf16(op_case, 2, kOneRounding);
  }
}

TEST(Scale, AgreesWithTheReference) {
  for (const Dims& dims : kSizes) {
    const OpCase op_case{Op::Scale, {{"factor", 0.3}}, {random_array(dims, 1)}, {}, "scale"};
    expect_agrees(op_case, kOneRounding);
    expect_agrees_in_bf16(op_case, 1, kOneRounding);
  }
}

TEST(Sum, AgreesWithTheReferenceForOneToFiveTerms) {
  for (const Dims& dims : kSizes) {
    OpCase op_case{Op::Sum, {{"factor", 1.0 / 3}}, {}, {}, "sum"};
    for (unsigned terms = 1; terms <= 5; ++terms) {
      op_case.inputs.push_back(random_array(dims, terms));
      expect_agrees(op_case, sum_of(terms));
      expect_agrees_in_bf16(op_case, terms, sum_of(terms));
    }
  }
}

TEST(Cast, RoundsLikeTheReferenceBitByBit) {
  Array x = random_array({2, 40, 40, 24}, 1);
  for (std::int64_t i = 0; i < x.type.elements(); ++i) x.f32()[i] *= 1.0F + 0x1p-9F;
  const float odd[] = {0.0F,
                       -0.0F,
                       1.00390625F,
                       1.01171875F,
                       3.4e38F,
                       1e-40F,
                       std::numeric_limits<float>::infinity(),
                       -std::numeric_limits<float>::infinity()};
  std::copy(std::begin(odd), std::end(odd), x.f32());
  const auto bf16 = static_cast<std::int64_t>(ElementType::BF16);
  const auto f32 = static_cast<std::int64_t>(ElementType::F32);
  const OpCase down{Op::Cast, {{"element", bf16}}, {x}, {}, "cast down"};
  const OpResult expected = run_op(reference_table(), down, 1);
  for (int threads : {1, 2}) {
    expect_same_bits(run_op(cpu_table(), down, threads).outputs, expected.outputs, down.name);
  }
  const OpCase up{Op::Cast, {{"element", f32}}, {expected.outputs[0]}, {}, "cast up"};
  expect_same_bits(run_op(cpu_table(), up, 2).outputs, run_op(reference_table(), up, 1).outputs,
                   up.name);
  expect_agrees({Op::Cast, {{"element", f32}}, {random_array({5}, 1)}, {}, "cast to itself"}, {});
}

TEST(Concatenate, LaysRowsOneAfterTheOther) {
  const Array a = random_array({3, 5}, 1), b = random_array({1, 5}, 2), c = random_array({4, 5}, 3);
  const OpCase join{Op::Concatenate, {}, {a, b, c}, {}, "three parts"};
  const OpResult result = run_op(cpu_table(), join, 1);
  expect_same_bits(result.outputs, run_op(reference_table(), join, 1).outputs, join.name);
  EXPECT_EQ(result.outputs[0].f32()[3 * 5 + 2], b.f32()[2]);
  EXPECT_EQ(result.outputs[0].f32()[4 * 5], c.f32()[0]);
}

TEST(Cast, KeepsNaN) {
  Array x = random_array({40}, 1);
  x.f32()[3] = std::numeric_limits<float>::quiet_NaN();
  x.f32()[39] = std::bit_cast<float>(0x7F800001U);  // whose mantissa rounding would clear
  const auto bf16 = static_cast<std::int64_t>(ElementType::BF16);
  const OpResult result = run_op(cpu_table(), {Op::Cast, {{"element", bf16}}, {x}, {}, "cast"}, 1);
  for (std::int64_t i : {3, 39}) EXPECT_TRUE(std::isnan(result.outputs[0].at(i))) << i;
  EXPECT_FALSE(std::isnan(result.outputs[0].at(4)));
}

TEST(Copy, AgreesWithTheReference) {
  for (const Dims& dims : kSizes) {
    expect_agrees({Op::Copy, {}, {random_array(dims, 1)}, {}, "copy"}, {});
  }
}

/// A variable of more than two shards, and a reader of it.
class SharedRead {
 public:
  explicit SharedRead(Sharing sharing)
      : value_(random_array({2 * kShardElements + 5}, 1)), copy_(value_.type) {
    storage_.tensor = value_.tensor();
    storage_.sharing = sharing;
    storage_.version = 7;
    if (sharing == Sharing::Locked) storage_.shards = std::vector<std::mutex>(3);
    node_.outputs = {value_.type};
    kernel_ = cpu_table().build({.node = node_,
                                 .inputs = {},
                                 .outputs = outputs_,
                                 .variables = variables_,
                                 .versions_seen = versions_});
  }

  void run() { kernel_->run({}); }
  std::uint64_t seen() const { return seen_; }
  const Array& value() const { return value_; }
  const Array& copy() const { return copy_; }
  VariableStorage& storage() { return storage_; }

 private:
  Array value_;
  Array copy_;
  VariableStorage storage_;
  std::uint64_t seen_ = 0;
  Node node_{.op = Op::Read};
  std::vector<Tensor> outputs_{copy_.tensor()};
  std::vector<VariableStorage*> variables_{&storage_};
  std::vector<std::uint64_t*> versions_{&seen_};
  std::unique_ptr<Kernel> kernel_;
};

TEST(Read, CopiesASharedVariableAndNotesItsVersion) {
  for (Sharing sharing : {Sharing::Relaxed, Sharing::Locked}) {
    SharedRead read(sharing);
    read.run();
    EXPECT_EQ(read.seen(), 7U);
    expect_same_bits({read.copy()}, {read.value()}, std::string(to_string(sharing)));
  }
}

TEST(Read, WaitsForTheLockOfEachShard) {
  SharedRead read(Sharing::Locked);
  std::unique_lock lock(read.storage().shards[2]);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    read.run();
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(done);
  float* last = read.value().f32() + 2 * kShardElements + 4;
  *last = 42;
  lock.unlock();
  reader.join();
  EXPECT_EQ(read.copy().f32()[2 * kShardElements + 4], 42);
}

}  // namespace
}  // namespace regatta::cpu::test
