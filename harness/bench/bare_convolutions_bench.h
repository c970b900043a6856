// SPDX-License-Identifier: Apache-2.0
//
// Times each convolution of a training step alone, in two ways: with the kernel that a step uses,
// and with oneDNN's bare primitive on nhwc images and on weights in the layout that oneDNN prefers
// (reorders are not timed). The sum of the bare primitives' times is a lower bound for the step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/buffer.h"
#include "kernels/graph/graph.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class BareConvolutions {
 public:
  struct Entry {
    Op op = Op::Convolution;
    std::string layer;
    std::string shape;                 ///< of the weights, and of the larger of the two images
    double flop = 0;                   ///< for the whole batch, 2 per multiply-add
    std::vector<double> primitive_ms;  ///< time of oneDNN's primitive in each round
    std::vector<double> kernel_ms;     ///< time of the step's kernel in each round
  };

  /// `graph` must outlive this object. Threads: run_round() must be called from the thread that
  /// constructed the object.
  BareConvolutions(const Graph& graph, const KernelTable& kernels, int threads);

  /// Times one run of every convolution's primitive and kernel.
  void run_round();
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  struct Pair {
    std::unique_ptr<Kernel> primitive;
    std::unique_ptr<Kernel> kernel;
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
  };

  void set_memory_aside(const Graph& graph);
  void build(const Graph& graph, const Node& node, const KernelTable& kernels);

  int threads_;
  std::map<std::pair<bool, std::size_t>, cpu::Buffer<std::byte>> memory_;  // (output?, index)
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::vector<Entry> entries_;
};

}  // namespace regatta
