// SPDX-License-Identifier: Apache-2.0
//
// Times the convolutions of a training step, each alone: by the project's kernel table, as in a
// step, and by oneDNN's bare primitive with nhwc images and weights in its preferred layout
// (reorders are not timed). The sum of the bare primitives' times is the bound for the step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/buffer.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class BareConvolutions {
 public:
  struct Entry {
    Op op = Op::Convolution;
    std::string layer;
    std::string shape;                 ///< of the weights and the larger images
    double flop = 0;                   ///< 2 per multiply-add, for the whole batch
    std::vector<double> primitive_ms;  ///< by round
    std::vector<double> kernel_ms;
  };

  /// `graph` outlives this. Threads: one thread constructs and runs it.
  BareConvolutions(const Graph& graph, const KernelTable& kernels, int threads);

  /// Runs every convolution once in each way.
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
