// SPDX-License-Identifier: Apache-2.0
#include "harness/bench/bare_convolutions_bench.h"

#include <omp.h>

#include <algorithm>
#include <random>

#include "kernels/cpu/onednn.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta {
namespace {

namespace onednn = cpu::onednn;

bool is_convolution(const Node& node) {
  return node.op == Op::Convolution || node.op == Op::ConvolutionBackwardData ||
         node.op == Op::ConvolutionBackwardWeights;
}

/// The tensors of a convolution, including the one that a pass computes.
struct Operands {
  Tensor x;
  Tensor weights;
  Tensor y;
};

Operands operands(Op op, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
  if (op == Op::Convolution) return {inputs[0], inputs[1], outputs[0]};
  if (op == Op::ConvolutionBackwardData) return {outputs[0], inputs[1], inputs[0]};
  return {inputs[1], outputs[0], inputs[0]};
}

/// The primitive alone. Its weights are memory in its own layout, with arbitrary contents.
std::unique_ptr<Kernel> bare_primitive(const Node& node, const Operands& t) {
  const bool forward = node.op == Op::Convolution;
  const bool data = node.op == Op::ConvolutionBackwardData;
  const onednn::Pass pass = forward ? onednn::Pass::Forward
                            : data  ? onednn::Pass::BackwardData
                                    : onednn::Pass::BackwardWeights;
  const std::int64_t groups = t.x.type.dim(3) / t.weights.type.dim(3);
  const auto weights = [&](onednn::Layout layout) {
    return onednn::describe_weights(t.weights.type, groups, layout);
  };
  const onednn::Choice choice =
      onednn::choose(onednn::Convolution{.pass = pass,
                                         .x = onednn::describe_images(t.x.type),
                                         .weights = weights(onednn::Layout::Preferred),
                                         .y = onednn::describe_images(t.y.type),
                                         .stride = node.attributes.integer("stride"),
                                         .padding = node.attributes.integer("padding")});
  auto program = std::make_unique<onednn::Program>();
  const auto plain = weights(onednn::Layout::Plain);
  // write_as() allocates memory if the layouts differ, and copies nothing by itself.
  const dnnl::memory w = program->write_as(choice.weights, plain, t.weights.data);
  program->add(choice.primitive, choice.scratchpad,
               {{data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, program->bind(choice.x, t.x.data)},
                {forward || data ? DNNL_ARG_WEIGHTS : DNNL_ARG_DIFF_WEIGHTS, w},
                {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, program->bind(choice.y, t.y.data)}});
  return program;
}

/// Fills memory with bf16 numbers in ±[1/256, 1), none of which is denormal when read as f32.
void fill(std::byte* memory, std::size_t bytes) {
  std::minstd_rand generator(7);
  auto* halves = reinterpret_cast<std::uint16_t*>(memory);
  for (std::size_t i = 0; i < bytes / 2; ++i) {
    const auto random = static_cast<std::uint32_t>(generator());
    const std::uint32_t exponent = 119 + (random >> 8) % 8;
    halves[i] = static_cast<std::uint16_t>(((random >> 16) & 1) << 15 | exponent << 7 |
                                           ((random >> 17) & 127));
  }
}

double flop_of(const Operands& t) {
  const std::int64_t a_point = t.weights.type.elements();
  return 2.0 * static_cast<double>(t.y.type.dim(0) * t.y.type.dim(1) * t.y.type.dim(2) * a_point);
}

double run_ms(Kernel& kernel) {
  const std::int64_t begin = now_ns();
  kernel.run({});
  return static_cast<double>(now_ns() - begin) * 1e-6;
}

}  // namespace

BareConvolutions::BareConvolutions(const Graph& graph, const KernelTable& kernels, int threads)
    : threads_(threads) {
  omp_set_num_threads(threads);
  set_memory_aside(graph);
  for (const Node& node : graph.nodes()) {
    if (is_convolution(node)) build(graph, node, kernels);
  }
}

/// Allocates one set of inputs and one of outputs, which all convolutions share.
void BareConvolutions::set_memory_aside(const Graph& graph) {
  std::map<std::pair<bool, std::size_t>, std::size_t> bytes;
  const auto want = [&](bool output, std::size_t index, const TensorType& type) {
    std::size_t& most = bytes[{output, index}];
    most = std::max(most, static_cast<std::size_t>(type.bytes()));
  };
  for (const Node& node : graph.nodes()) {
    if (!is_convolution(node)) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) want(false, i, graph.type(node.inputs[i]));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) want(true, i, node.outputs[i]);
  }
  for (const auto& [key, size] : bytes) {
    memory_[key] = cpu::make_buffer<std::byte>(size);
    fill(memory_[key].get(), size);
  }
}

void BareConvolutions::build(const Graph& graph, const Node& node, const KernelTable& kernels) {
  Pair& pair = *pairs_.emplace_back(std::make_unique<Pair>());
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    pair.inputs.push_back({graph.type(node.inputs[i]), memory_[{false, i}].get()});
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    pair.outputs.push_back({node.outputs[i], memory_[{true, i}].get()});
  }
  const Operands tensors = operands(node.op, pair.inputs, pair.outputs);
  pair.primitive = bare_primitive(node, tensors);
  pair.kernel = kernels.build({.node = node,
                               .inputs = pair.inputs,
                               .outputs = pair.outputs,
                               .variables = {},
                               .versions_seen = {},
                               .threads = threads_});
  entries_.push_back({.op = node.op,
                      .layer = node.layer,
                      .shape = to_string(tensors.x.type) + " * " + to_string(tensors.weights.type),
                      .flop = flop_of(tensors),
                      .primitive_ms = {},
                      .kernel_ms = {}});
}

void BareConvolutions::run_round() {
  omp_set_num_threads(threads_);
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    entries_[i].primitive_ms.push_back(run_ms(*pairs_[i]->primitive));
    entries_[i].kernel_ms.push_back(run_ms(*pairs_[i]->kernel));
  }
}

}  // namespace regatta
