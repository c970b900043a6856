// SPDX-License-Identifier: Apache-2.0
//
// The subjects of the tests of ops (kernels/cpu/*_test.cpp) in this folder: its kernels on the
// emulated queue and, if there is one, on a GPU, each with aligned and with unaligned tensors.
#include "kernels/cpu/test_support.h"
#include "kernels/cuda/device/device_op_for_test.h"
#include "kernels/cuda/device/emulated_for_test.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::cpu::test {
namespace {

using cuda::testing_support::DeviceOp;
using cuda::testing_support::Place;

OpResult run_on(Device& device, Place place, const OpCase& op_case, std::int64_t steps) {
  DeviceOp op(device, place, op_case);
  for (std::int64_t step = 0; step < steps; ++step) {
    op.begin_step(context_of(step));
    op.run(context_of(step));
    op.finish();
  }
  return {.outputs = op.outputs(), .variables = op.variables()};
}

void add_subjects(std::vector<Subject>& subjects, const std::string& name,
                  const std::shared_ptr<Device>& device) {
  for (const Place place : {Place::Aligned, Place::OneElementOn}) {
    const std::string where = place == Place::Aligned ? "" : " at odd addresses";
    subjects.push_back({name + where, [=](const OpCase& op_case, std::int64_t steps) {
                          return run_on(*device, place, op_case, steps);
                        }});
  }
}

}  // namespace

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = [] {
    std::vector<Subject> made;
    add_subjects(made, " emulated", cuda::make_emulated_device());
    if (find_gpus().missing.empty()) add_subjects(made, " on a GPU", make_cuda_device(0));
    return made;
  }();
  return all;
}

}  // namespace regatta::cpu::test
