// SPDX-License-Identifier: Apache-2.0
//
// What the tests of ops (kernels/cpu/*_test.cpp) are about in this folder: its kernels on the
// emulated queue and, where there is one, on a GPU; each with tensors where a memory plan puts them
// and at addresses that are aligned to their element only, as gradients in buckets are.
#include "kernels/cpu/test_support.h"
#include "kernels/cuda/device.h"
#include "kernels/runtime/devices.h"
#include "kernels/runtime/gpu_facts.h"

namespace regatta::cpu::test {
namespace {

enum class Place { Aligned, OneElementOn };

/// Memory of a device, with copies of arrays in it.
class DeviceArrays {
 public:
  DeviceArrays(Device& device, Place place) : device_(device), place_(place) {}
  ~DeviceArrays() {
    for (void* memory : memory_) device_.release(memory);
  }
  DeviceArrays(const DeviceArrays&) = delete;
  DeviceArrays& operator=(const DeviceArrays&) = delete;

  Tensor add(const Array& array) {
    const std::int64_t skipped = place_ == Place::Aligned ? 0 : size_of(array.type.element);
    memory_.push_back(device_.allocate(skipped + array.type.bytes()));
    void* const data = static_cast<std::byte*>(memory_.back()) + skipped;
    std::memcpy(data, array.bytes.get(), static_cast<std::size_t>(array.type.bytes()));
    return {.type = array.type, .data = data};
  }

 private:
  Device& device_;
  Place place_;
  std::vector<void*> memory_;
};

Array array_of(const Tensor& tensor) {
  Array array(tensor.type);
  std::memcpy(array.bytes.get(), tensor.data, static_cast<std::size_t>(tensor.type.bytes()));
  return array;
}

const KernelTable& cuda_table() {
  static const KernelTable table = [] {
    KernelTable filled("cuda");
    add_cuda_kernels(filled);
    return filled;
  }();
  return table;
}

/// The node of a case, whose outputs hold what shows where a kernel does not write.
Node node_of(const OpCase& op_case) {
  std::vector<TensorType> inputs, variables;
  for (const Array& input : op_case.inputs) inputs.push_back(input.type);
  for (const Array& variable : op_case.variables) variables.push_back(variable.type);
  Node node{.op = op_case.op, .attributes = op_case.attributes};
  node.outputs = op_info(op_case.op).infer({inputs, variables, op_case.attributes});
  return node;
}

OpResult run_on(Device& device, Place place, const OpCase& op_case, std::int64_t steps) {
  DeviceArrays tensors(device, place), aligned(device, Place::Aligned);
  const Node node = node_of(op_case);
  std::vector<Tensor> inputs, outputs;
  for (const Array& input : op_case.inputs) inputs.push_back(tensors.add(input));
  for (const TensorType& type : node.outputs) {
    Array unwritten(type);
    std::memset(unwritten.bytes.get(), 0xFF, static_cast<std::size_t>(type.bytes()));
    outputs.push_back(tensors.add(unwritten));
  }
  std::vector<VariableStorage> storages(op_case.variables.size());
  std::vector<VariableStorage*> variables;
  for (std::size_t i = 0; i < storages.size(); ++i) {
    storages[i].tensor = aligned.add(op_case.variables[i]);
    variables.push_back(&storages[i]);
  }
  const auto queue = device.make_queue();
  const auto kernel = cuda_table().build({.node = node,
                                          .inputs = inputs,
                                          .outputs = outputs,
                                          .variables = variables,
                                          .versions_seen = {},
                                          .queue = queue.get()});
  for (std::int64_t step = 0; step < steps; ++step) {
    queue->begin_step({.step = step});
    kernel->run({.step = step});
    queue->finish();
  }
  OpResult result;
  for (const Tensor& output : outputs) result.outputs.push_back(array_of(output));
  for (const VariableStorage& storage : storages) {
    result.variables.push_back(array_of(storage.tensor));
  }
  return result;
}

void add_subjects(std::vector<Subject>& subjects, const std::string& name,
                  std::shared_ptr<Device> device) {
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
