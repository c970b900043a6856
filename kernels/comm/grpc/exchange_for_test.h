// SPDX-License-Identifier: Apache-2.0
//
// For tests and benchmarks of the exchange: both ends of a connection, with kernels built by hand.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/comm/grpc/grpc_exchange.h"
#include "kernels/runtime/kernel.h"

namespace regatta::test {

inline const std::string kRunIdDigits = "00112233445566778899aabbccddeeff";
inline const std::string kToken(64, 'a');

inline comm::ExchangeOptions options_of(int process, int processes) {
  return {
      .run = {.run_id = kRunIdDigits, .token = kToken}, .process = process, .processes = processes};
}

using Bytes = std::vector<std::uint8_t>;

inline Bytes random_bytes(std::int64_t count, unsigned seed) {
  std::mt19937_64 generator(seed);
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(generator());
  return bytes;
}

/// Tensors of bytes.
using Tensors = std::vector<Bytes>;

inline Tensors random_tensors(const std::vector<std::int64_t>& sizes, unsigned seed) {
  Tensors tensors;
  for (std::int64_t size : sizes) tensors.push_back(random_bytes(size, seed++));
  return tensors;
}

/// A Send or Receive of message `message` with process `peer`, and its memory. `from` is the
/// sending place's coordinates, which a push needs.
class MessageEnd {
 public:
  MessageEnd(const KernelTable& table, Op op, std::int64_t message, int peer,
             const std::vector<std::int64_t>& sizes, Place place = {},
             const std::optional<Attributes::Value>& from = {}) {
    node_ = {.op = op,
             .attributes = {{"message", message}, {"peer", std::int64_t{peer}}},
             .place = place};
    if (from) node_.attributes.set("from", *from);
    for (std::int64_t size : sizes) {
      tensors.emplace_back(static_cast<std::size_t>(size));
      views_.push_back(
          {.type = {ElementType::U8, {size}}, .data = static_cast<void*>(tensors.back().data())});
    }
    KernelRequest request{.node = node_};
    request.abort = &abort;
    (op == Op::Send ? request.inputs : request.outputs) = views_;
    kernel_ = table.build(request);
  }

  void run(std::int64_t step) {
    kernel_->run({.step = step, .examples = 0, .counters = &counters});
  }

  /// Copies values into the kernel's memory.
  void set(const Tensors& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::copy(values[i].begin(), values[i].end(), tensors.at(i).begin());
    }
  }

  Tensors tensors;  ///< the kernel points to them
  AbortFlag abort;
  LaneCounters counters;

 private:
  Node node_;
  std::vector<Tensor> views_;
  std::unique_ptr<Kernel> kernel_;
};

/// The exchange of one process, and its kernel table.
struct End {
  explicit End(const comm::ExchangeOptions& options) : exchange(options) {
    exchange.add_kernels(table);
  }
  std::unique_ptr<MessageEnd> send(std::int64_t message, int peer,
                                   const std::vector<std::int64_t>& sizes, Place place = {}) {
    return std::make_unique<MessageEnd>(table, Op::Send, message, peer, sizes, place);
  }
  std::unique_ptr<MessageEnd> receive(std::int64_t message, int peer,
                                      const std::vector<std::int64_t>& sizes, Place place = {}) {
    return std::make_unique<MessageEnd>(table, Op::Receive, message, peer, sizes, place);
  }

  comm::GrpcExchange exchange;
  KernelTable table{"cpu"};
};

}  // namespace regatta::test
