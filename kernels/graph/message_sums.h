// SPDX-License-Identifier: Apache-2.0
//
// Messages that the receiver only sums: gradients that workers push to a parameter server, or send
// to the worker that updates for all. partition() adds each message onto the sum as it arrives, in
// the order of the terms, instead of waiting for all of them; the result has the same bits.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/graph/messages.h"

namespace regatta {

struct MessageSum {
  /// The first term, if it is computed at the sum's place; only for messages of one value.
  std::optional<Value> onto;
  std::vector<std::size_t> messages;  ///< the other terms, in their order
  std::vector<Value> sums;            ///< in the placed graph; sum i adds value i of every message
};

/// Finds sums of two or more whole messages, or of a local value and one or more messages, that no
/// other node reads. Only f32, because it rounds at every term, and only sums without a factor.
std::vector<MessageSum> message_sums(const Graph& graph, const std::vector<Message>& messages);

}  // namespace regatta
