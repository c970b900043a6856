// SPDX-License-Identifier: Apache-2.0
//
// For tests of dense and convolution: a kernel of this folder, built by a given function on the
// test's arrays, beside the reference.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cpu/test_support.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "kernels/runtime/chosen_kernel.h"

namespace regatta::cuda::testing_support {

using namespace cpu::test;
using Build = std::function<KernelPointer(const KernelRequest&)>;

class Products : public OnDevices {
 protected:
  /// The tensors after two runs, which must write the same bits. Outputs lie `skipped` elements
  /// behind an aligned address.
  std::vector<Array> run(const Build& build, const OpCase& op_case, std::int64_t skipped = 0) {
    std::vector<Tensor> inputs;
    std::vector<TensorType> types;
    for (const Array& input : op_case.inputs) {
      types.push_back(input.type);
      inputs.push_back({.type = input.type, .data = allocate<std::byte>(input.type.bytes())});
      device().write(inputs.back().data, input.bytes.get(), input.type.bytes());
    }
    Node node{.op = op_case.op, .attributes = op_case.attributes};
    node.outputs = op_info(op_case.op).infer({types, {}, op_case.attributes});
    const TensorType& type = node.outputs[0];
    const std::int64_t skipped_bytes = skipped * size_of(type.element);
    const Tensor output{.type = type,
                        .data = allocate<std::byte>(type.bytes() + skipped_bytes) + skipped_bytes};
    const KernelPointer kernel = build({.node = node,
                                        .inputs = inputs,
                                        .outputs = {&output, 1},
                                        .variables = {},
                                        .versions_seen = {},
                                        .queue = &queue()});
    EXPECT_NE(kernel, nullptr) << op_case.name;
    if (kernel == nullptr) return {};
    choice_ = choice_of(*kernel);
    const auto bytes = static_cast<std::size_t>(type.bytes());
    std::vector<Array> results;
    for (int repetition = 0; repetition < 2; ++repetition) {
      Array& result = results.emplace_back(type);
      std::memset(result.bytes.get(), 0xFF, bytes);  // shows which elements are not written
      device().write(output.data, result.bytes.get(), type.bytes());
      kernel->run({});
      queue().finish();
      device().read(result.bytes.get(), output.data, type.bytes());
    }
    EXPECT_EQ(std::memcmp(results[0].bytes.get(), results[1].bytes.get(), bytes), 0)
        << op_case.name << " by " << choice_ << " is not the same bits twice";
    results.pop_back();
    return results;
  }

  /// Compares results of f32 and of bf16 inputs with the reference, within each type's bound.
  void expect_agrees(const Build& build, const OpCase& op_case, const Bound& bound,
                     const Bound& bound_bf16) {
    const auto expected = cpu::test::run_op(cpu::test::reference_table(), op_case, 1).outputs;
    OpCase halved = op_case;
    for (Array& input : halved.inputs) input = cpu::test::to_bf16(input);
    // A library depends on addresses, our own kernels do not: these need one offset for each type.
    for (const std::int64_t skipped : {0, 1}) {
      if (!queue().emulated() || skipped == 1) {
        cpu::test::expect_close(run(build, op_case, skipped), expected, bound,
                                op_case.name + " by " + choice_);
      }
      if (!queue().emulated() || skipped == 0) {
        cpu::test::expect_close(run(build, halved, skipped), expected, bound_bf16,
                                op_case.name + " in bf16 by " + choice_);
      }
    }
  }

  /// The choice() of the last run's kernel.
  const std::string& choice() const { return choice_; }

 private:
  std::string choice_;
};

}  // namespace regatta::cuda::testing_support
