// SPDX-License-Identifier: Apache-2.0
//
// For tests and benchmarks of this folder: one op on a device, with its kernel, memory and queue.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/built_op_for_test.h"
#include "kernels/runtime/chosen_kernel.h"
#include "kernels/runtime/devices.h"

namespace regatta::cuda::testing_support {

/// Alignment of inputs and outputs: as in a memory plan, or only to one element, like gradients in
/// buckets.
enum class Place { Aligned, OneElementOn };

inline const KernelTable& cuda_table() {
  static const KernelTable table = [] {
    KernelTable filled("cuda");
    add_cuda_kernels(filled);
    return filled;
  }();
  return table;
}

class DeviceOp {
 public:
  using Array = cpu::test::Array;

  /// `data`: for input nodes.
  DeviceOp(Device& device, Place place, const cpu::test::OpCase& op_case,
           const KernelTable& table = cuda_table(), const DataSet* data = nullptr)
      : device_(device), node_(node_of(op_case)), storages_(op_case.variables.size()) {
    for (const Array& input : op_case.inputs) inputs_.push_back(add(input, place));
    for (const TensorType& type : node_.outputs) {
      Array unwritten(type);  // shows which elements the kernel does not write
      std::memset(unwritten.bytes.get(), 0xFF, static_cast<std::size_t>(type.bytes()));
      outputs_.push_back(add(unwritten, place));
    }
    for (std::size_t i = 0; i < storages_.size(); ++i) {
      storages_[i].tensor = add(op_case.variables[i], Place::Aligned);
      variables_.push_back(&storages_[i]);
    }
    queue_ = device_.make_queue();
    kernel_ = table.build({.node = node_,
                           .inputs = inputs_,
                           .outputs = outputs_,
                           .variables = variables_,
                           .versions_seen = {},
                           .data = data,
                           .queue = queue_.get()});
  }
  DeviceOp(const DeviceOp&) = delete;
  DeviceOp& operator=(const DeviceOp&) = delete;

  void begin_step(const StepContext& context) { queue_->begin_step(context); }
  void run(const StepContext& context) { kernel_->run(context); }
  void finish() { queue_->finish(); }
  /// The choice() of its kernel; empty if there was none.
  std::string choice() const { return choice_of(*kernel_); }

  std::vector<Array> outputs() const {
    std::vector<Array> arrays;
    for (const Tensor& output : outputs_) arrays.push_back(array_of(output));
    return arrays;
  }
  std::vector<Array> variables() const {
    std::vector<Array> arrays;
    for (const VariableStorage& storage : storages_) arrays.push_back(array_of(storage.tensor));
    return arrays;
  }

 private:
  struct Release {
    Device* device;
    void operator()(void* memory) const { device->release(memory); }
  };

  static Node node_of(const cpu::test::OpCase& op_case) {
    std::vector<TensorType> inputs, variables;
    for (const Array& input : op_case.inputs) inputs.push_back(input.type);
    for (const Array& variable : op_case.variables) variables.push_back(variable.type);
    Node node{.op = op_case.op, .attributes = op_case.attributes};
    node.outputs = op_info(op_case.op).infer({inputs, variables, op_case.attributes});
    return node;
  }

  Tensor add(const Array& array, Place place) {
    const std::int64_t skipped = place == Place::Aligned ? 0 : size_of(array.type.element);
    memory_.push_back({device_.allocate(skipped + array.type.bytes()), Release{&device_}});
    void* const data = static_cast<std::byte*>(memory_.back().get()) + skipped;
    device_.write(data, array.bytes.get(), array.type.bytes());
    return {.type = array.type, .data = data};
  }

  Array array_of(const Tensor& tensor) const {
    Array array(tensor.type);
    device_.read(array.bytes.get(), tensor.data, tensor.type.bytes());
    return array;
  }

  Device& device_;
  std::vector<std::unique_ptr<void, Release>> memory_;  // outlives the kernel, and a failed build
  Node node_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<VariableStorage> storages_;
  std::vector<VariableStorage*> variables_;
  std::unique_ptr<LaneQueue> queue_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace regatta::cuda::testing_support
