// SPDX-License-Identifier: Apache-2.0
//
// Shared by tests and benchmarks of this folder: random tensors, and one op built on them.
#pragma once

#include <omp.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/element.h"
#include "kernels/graph/op.h"
#include "kernels/runtime/devices.h"

namespace regatta::cpu::test {

using Dims = std::vector<std::int64_t>;

/// A tensor that owns its memory.
struct Array {
  explicit Array(TensorType element_type)
      : type(std::move(element_type)),
        bytes(make_buffer<std::byte>(static_cast<std::size_t>(type.bytes()))) {}
  Array(const Array& other) : Array(other.type) {
    std::memcpy(bytes.get(), other.bytes.get(), static_cast<std::size_t>(type.bytes()));
  }
  Array(Array&&) = default;
  Array& operator=(const Array& other) { return *this = Array(other); }
  Array& operator=(Array&&) = default;

  Tensor tensor() const { return {.type = type, .data = bytes.get()}; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(bytes.get());
  }
  float* f32() const { return as<float>(); }
  /// Element i as f32, from any element type.
  float at(std::int64_t i) const {
    switch (type.element) {
      case ElementType::F32: return f32()[i];
      case ElementType::BF16: return load(as<Bf16>()[i]);
      case ElementType::U8: return static_cast<float>(as<std::uint8_t>()[i]);
      case ElementType::I32: return static_cast<float>(as<std::int32_t>()[i]);
    }
    return 0;
  }

  TensorType type;
  Buffer<std::byte> bytes;
};

/// Uniform in [-1, 1), rounded to bf16's precision so that both element types hold it exactly.
inline Array random_array(Dims dims, unsigned seed) {
  Array array({ElementType::F32, std::move(dims)});
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (std::int64_t i = 0; i < array.type.elements(); ++i) {
    Bf16 rounded{};
    store(rounded, uniform(generator));
    array.f32()[i] = load(rounded);
  }
  return array;
}

inline Array random_labels(std::int64_t batch, int classes, unsigned seed) {
  Array array({ElementType::I32, {batch}});
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> uniform(0, classes - 1);
  for (std::int64_t i = 0; i < batch; ++i) {
    array.as<std::int32_t>()[i] = uniform(generator);
  }
  return array;
}

inline Array to_bf16(const Array& from) {
  Array to({ElementType::BF16, from.type.dims});
  for (std::int64_t i = 0; i < from.type.elements(); ++i) {
    store(to.as<Bf16>()[i], from.f32()[i]);
  }
  return to;
}

struct OpCase {
  Op op = Op::Add;
  Attributes attributes;
  std::vector<Array> inputs;
  std::vector<Array> variables;
  std::string name;  ///< name in error messages
};

/// One op with its kernel and all memory that it uses.
class BuiltOp {
 public:
  BuiltOp(const KernelTable& table, OpCase op_case, int threads)
      : case_(std::move(op_case)), threads_(threads) {
    std::vector<TensorType> input_types, variable_types;
    for (const Array& input : case_.inputs) {
      inputs_.push_back(input.tensor());
      input_types.push_back(input.type);
    }
    for (const Array& variable : case_.variables) {
      variable_types.push_back(variable.type);
      storages_.push_back(std::make_unique<VariableStorage>());
      storages_.back()->tensor = variable.tensor();
      variables_.push_back(storages_.back().get());
    }
    node_ = {.op = case_.op, .attributes = case_.attributes};
    node_.outputs = op_info(case_.op).infer({input_types, variable_types, case_.attributes});
    for (const TensorType& type : node_.outputs) {
      output_arrays_.emplace_back(type);
      outputs_.push_back(output_arrays_.back().tensor());
      // NaNs reveal elements that the kernel does not write.
      std::memset(outputs_.back().data, 0xFF, static_cast<std::size_t>(type.bytes()));
    }
    versions_.assign(variables_.size(), nullptr);
    omp_set_num_threads(threads_);
    kernel_ = table.build({.node = node_,
                           .inputs = inputs_,
                           .outputs = outputs_,
                           .variables = variables_,
                           .versions_seen = versions_,
                           .threads = threads_});
  }

  void run(const StepContext& context) {
    omp_set_num_threads(threads_);
    kernel_->run(context);
  }
  Kernel& kernel() { return *kernel_; }
  const std::vector<Array>& outputs() const { return output_arrays_; }
  const std::vector<Array>& variables() const { return case_.variables; }

 private:
  OpCase case_;
  int threads_;
  Node node_;
  std::vector<Array> output_arrays_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<std::unique_ptr<VariableStorage>> storages_;
  std::vector<VariableStorage*> variables_;
  std::vector<SeenVersion*> versions_;
  std::unique_ptr<Kernel> kernel_;
};

inline const KernelTable& cpu_table() {
  static const KernelTable table = [] {
    KernelTable filled("cpu");
    add_cpu_kernels(filled);
    return filled;
  }();
  return table;
}

}  // namespace regatta::cpu::test
