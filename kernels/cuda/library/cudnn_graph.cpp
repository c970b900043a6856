// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/library/cudnn_graph.h"

#include <algorithm>
#include <array>

#include "kernels/base/error.h"

namespace regatta::cuda {
namespace {

cudnnDataType_t cudnn_type(ElementType element) {
  return element == ElementType::F32 ? CUDNN_DATA_FLOAT : CUDNN_DATA_BFLOAT16;
}

/// Sides in the library's order: channels come second, though they are neighbours in our memory.
struct Sides {
  std::int64_t images, channels, height, width;
};

Descriptor tensor(std::int64_t id, const Sides& n, ElementType element) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set_enumerator(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, cudnn_type(element));
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::array{n.images, n.channels, n.height, n.width});
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, std::array{n.height * n.width * n.channels, std::int64_t{1},
                                                   n.width * n.channels, n.channels});
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kTensorAlignment);
  tensor.finalize();
  return tensor;
}

Descriptor window(const ConvolutionShape& shape) {
  Descriptor window(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const std::array<std::int64_t, 2> ones{1, 1};
  const std::array<std::int64_t, 2> strides{shape.stride, shape.stride};
  const std::array<std::int64_t, 2> paddings{shape.padding, shape.padding};
  window.set_enumerator(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  window.set_enumerator(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                        CUDNN_CROSS_CORRELATION);
  window.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
  window.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, ones);
  window.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
  window.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, paddings);
  window.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, paddings);
  window.finalize();
  return window;
}

/// The library's names for one pass.
struct PassNames {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t window, x, w, y, alpha, beta;
};

PassNames names_of(ConvolutionPass pass) {
  switch (pass) {
    case ConvolutionPass::Forward: break;
    case ConvolutionPass::BackwardData:
      return {.type = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              .window = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              .x = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              .w = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              .y = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case ConvolutionPass::BackwardWeights:
      return {.type = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
              .window = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
              .x = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
              .w = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
              .y = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
              .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
              .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }
  return {.type = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          .window = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          .x = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          .w = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          .y = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          .alpha = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          .beta = CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

std::vector<cudnnBackendNumericalNote_t> notes_of(const Descriptor& engine) {
  std::vector<cudnnBackendNumericalNote_t> notes(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  std::int64_t count = 0;
  cudnn_call(
      cudnn().get_attribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                            CUDNN_TYPE_NUMERICAL_NOTE, std::ssize(notes), &count, notes.data()),
      "cudnnBackendGetAttribute of notes");
  notes.resize(static_cast<std::size_t>(count));
  return notes;
}

Descriptor engine_of(const Descriptor& configuration) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t opaque = engine.get();
  std::int64_t count = 0;
  cudnn_call(cudnn().get_attribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &opaque),
             "cudnnBackendGetAttribute of an engine");
  return engine;
}

/// All engines that one mode of the heuristics proposes.
std::vector<Descriptor> heuristics(const Descriptor& graph, const PlanTarget& target,
                                   cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set_enumerator(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
  if (target.properties != nullptr) {
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.properties);
  }
  std::vector<Descriptor> all;
  if (!heuristics.try_finalize()) return all;
  std::int64_t count = 0;
  cudnn_call(cudnn().get_attribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count, nullptr),
             "cudnnBackendGetAttribute of the number of configurations");
  std::vector<cudnnBackendDescriptor_t> opaque;
  for (std::int64_t i = 0; i < count; ++i) {
    all.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    opaque.push_back(all.back().get());
  }
  std::int64_t filled = 0;
  cudnn_call(cudnn().get_attribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, count, &filled, opaque.data()),
             "cudnnBackendGetAttribute of configurations");
  all.erase(all.begin() + std::min(count, filled), all.end());
  return all;
}

}  // namespace

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnn_call(cudnn().create_descriptor(type, &opaque_), "cudnnBackendCreateDescriptor");
}

Descriptor::~Descriptor() {
  if (opaque_ != nullptr) cudnn().destroy_descriptor(opaque_);
}

void Descriptor::set_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                            std::int64_t count, const void* values) {
  cudnn_call(cudnn().set_attribute(opaque_, name, type, count, values),
             "cudnnBackendSetAttribute " + std::to_string(name));
}

void Descriptor::set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
  set_values(name, CUDNN_TYPE_INT64, std::ssize(values), values.data());
}

void Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& value) {
  set_values(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.opaque_);
}

void Descriptor::set(cudnnBackendAttributeName_t name, float value) {
  set_values(name, CUDNN_TYPE_FLOAT, 1, &value);
}

void Descriptor::set(cudnnBackendAttributeName_t name, std::span<void* const> addresses) {
  set_values(name, CUDNN_TYPE_VOID_PTR, std::ssize(addresses), addresses.data());
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnHandle_t handle) {
  set_values(name, CUDNN_TYPE_HANDLE, 1, &handle);
}

void Descriptor::set_text(cudnnBackendAttributeName_t name, const std::string& text) {
  set_values(name, CUDNN_TYPE_CHAR, std::ssize(text), text.data());
}

std::int64_t Descriptor::integer(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  std::int64_t count = 0;
  cudnn_call(cudnn().get_attribute(opaque_, name, CUDNN_TYPE_INT64, 1, &count, &value),
             "cudnnBackendGetAttribute " + std::to_string(name));
  return value;
}

void Descriptor::finalize() { cudnn_call(cudnn().finalize(opaque_), "cudnnBackendFinalize"); }

bool Descriptor::try_finalize() { return cudnn().finalize(opaque_) == CUDNN_STATUS_SUCCESS; }

std::vector<Descriptor> convolution_graph(ConvolutionPass pass, const ConvolutionShape& shape,
                                          ElementType element, const PlanTarget& target) {
  std::vector<Descriptor> all;
  all.push_back(tensor(kX, {shape.batch, shape.inputs, shape.height, shape.width}, element));
  all.push_back(
      tensor(kW, {shape.outputs, shape.group_inputs, shape.kernel, shape.kernel}, element));
  all.push_back(tensor(kY, {shape.batch, shape.outputs, shape.rows, shape.columns}, element));
  all.push_back(window(shape));
  const PassNames names = names_of(pass);
  Descriptor operation(names.type);
  operation.set(names.x, all[0]);
  operation.set(names.w, all[1]);
  operation.set(names.y, all[2]);
  operation.set(names.window, all[3]);
  operation.set(names.alpha, 1.0F);
  operation.set(names.beta, 0.0F);
  operation.finalize();
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (target.handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, target.handle);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  graph.finalize();
  all.push_back(std::move(operation));
  all.push_back(std::move(graph));
  return all;
}

bool takes_notes(std::span<const cudnnBackendNumericalNote_t> notes, ElementType element) {
  return std::none_of(notes.begin(), notes.end(), [element](cudnnBackendNumericalNote_t note) {
    switch (note) {
      case CUDNN_NUMERICAL_NOTE_TENSOR_CORE: return element == ElementType::F32;
      case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP: return false;
      default: return true;
    }
  });
}

std::vector<EngineConfiguration> engines_for(const Descriptor& graph, ElementType element,
                                             const PlanTarget& target, std::size_t most) {
  std::vector<EngineConfiguration> taken;
  for (const cudnnBackendHeurMode_t mode :
       {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& configuration : heuristics(graph, target, mode)) {
      if (taken.size() == most) return taken;
      const Descriptor engine = engine_of(configuration);
      if (!takes_notes(notes_of(engine), element)) continue;
      taken.push_back({.configuration = std::move(configuration),
                       .engine = engine.integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX)});
    }
  }
  return taken;
}

std::optional<Descriptor> plan_of(const EngineConfiguration& engine, const PlanTarget& target) {
  Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, engine.configuration);
  if (target.handle != nullptr) plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, target.handle);
  if (target.properties != nullptr) {
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.properties);
  }
  if (!plan.try_finalize()) return std::nullopt;
  return plan;
}

std::int64_t workspace_bytes_of(const Descriptor& plan) {
  return plan.integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
}

Descriptor variant_pack(const PlanMemory& memory) {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const std::array<std::int64_t, 3> ids{kX, kW, kY};
  const std::array<void*, 3> addresses{memory.x, memory.w, memory.y};
  const std::array<void*, 1> workspace{memory.workspace};
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::span<void* const>(addresses));
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::span<void* const>(workspace));
  pack.finalize();
  return pack;
}

}  // namespace regatta::cuda
