// SPDX-License-Identifier: Apache-2.0
#include "harness/bench/roofline_bench.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/distribute/traffic.h"
#include "kernels/graph/op.h"
#include "kernels/runtime/lane.h"

namespace regatta::bench {
namespace {

constexpr int kRounds = 10;
constexpr int kRunsARound = 4;

/// One op with its memory and queue, for repeated runs.
class PeakOp {
 public:
  PeakOp(Device& device, const KernelTable& kernels, Op op, const std::vector<TensorType>& inputs)
      : device_(device), queue_(device.make_queue()) {
    check(queue_ != nullptr, "peaks are measured on devices with queues");
    node_.op = op;
    node_.outputs = op_info(op).infer({inputs, {}, node_.attributes});
    for (const TensorType& type : inputs) inputs_.push_back(tensor(type));
    for (const TensorType& type : node_.outputs) outputs_.push_back(tensor(type));
    for (const Tensor& input : inputs_) fill(input);
    kernel_ = kernels.build({.node = node_,
                             .inputs = inputs_,
                             .outputs = outputs_,
                             .variables = {},
                             .versions_seen = {},
                             .queue = queue_.get()});
    queue_->begin_step({});
  }
  ~PeakOp() {
    kernel_.reset();
    queue_.reset();
    for (const Tensor& tensor : inputs_) device_.release(tensor.data);
    for (const Tensor& tensor : outputs_) device_.release(tensor.data);
  }
  PeakOp(const PeakOp&) = delete;
  PeakOp& operator=(const PeakOp&) = delete;

  double least_ns() {
    return least_ns([this] { kernel_->run({}); });
  }
  double least_ns_of_copy() {
    return least_ns(
        [this] { queue_->copy(outputs_[0].data, inputs_[0].data, inputs_[0].type.bytes()); });
  }

 private:
  Tensor tensor(const TensorType& type) {
    return {.type = type, .data = device_.allocate(type.bytes())};
  }

  /// Fills with varied small numbers, valid in both types: devices compute faster with zeros.
  void fill(const Tensor& tensor) {
    std::vector<std::uint16_t> words(static_cast<std::size_t>(tensor.type.bytes() / 2));
    std::uint32_t state = 1;
    for (std::uint16_t& word : words) {
      state = state * 1664525 + 1013904223;
      word = static_cast<std::uint16_t>(0x3C00U + (state >> 24U) * 3U);
    }
    device_.write(tensor.data, words.data(), tensor.type.bytes());
  }

  /// The shortest mean time of a run over the rounds. A round's first run is not timed, so that the
  /// others already wait in the queue.
  double least_ns(const std::function<void()>& run) {
    const auto begin = queue_->make_mark();
    const auto end = queue_->make_mark();
    double least = std::numeric_limits<double>::infinity();
    for (int round = 0; round < kRounds; ++round) {
      run();
      begin->put();
      for (int i = 0; i < kRunsARound; ++i) run();
      end->put();
      queue_->finish();
      least = std::min(least, end->ns_since(*begin) / kRunsARound);
    }
    return least;
  }

  Device& device_;
  std::unique_ptr<LaneQueue> queue_;
  Node node_;
  std::vector<Tensor> inputs_;
  std::vector<Tensor> outputs_;
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace

std::string name_of(Limit limit, ElementType element) {
  if (limit == Limit::Memory) return "memory bus";
  return element == ElementType::BF16 ? "tensor cores"
                                      : std::string(to_string(element)) + " products";
}

Roof roof_of(const KernelLoad& load, double ms, const Peaks& peaks) {
  const double products = load.flop > 0 ? load.flop / peaks.flop.at(load.element) * 1e3 : 0;
  const double memory = load.bytes / peaks.bytes * 1e3;
  Roof roof;
  roof.bound_ms = std::max(products, memory);
  roof.limit = products > memory ? Limit::Products : Limit::Memory;
  roof.efficiency = ms > 0 ? roof.bound_ms / ms : 0;
  return roof;
}

Peaks measure_peaks(Device& device, const KernelTable& kernels,
                    const std::set<ElementType>& elements, const PeakSizes& sizes) {
  Peaks peaks;
  const auto side = static_cast<double>(sizes.side);
  for (const ElementType element : elements) {
    const TensorType square{element, {sizes.side, sizes.side}};
    const double ns = PeakOp(device, kernels, Op::Dense, {square, square}).least_ns();
    peaks.flop[element] = 2 * side * side * side / ns * 1e9;
  }
  const TensorType line{ElementType::F32, {sizes.elements}};
  const auto bytes = static_cast<double>(line.bytes());
  PeakOp add(device, kernels, Op::Add, {line, line});
  peaks.bytes = std::max(3 * bytes / add.least_ns(), 2 * bytes / add.least_ns_of_copy()) * 1e9;
  return peaks;
}

}  // namespace regatta::bench
