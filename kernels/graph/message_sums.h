// SPDX-License-Identifier: Apache-2.0
//
// Messages that the receiver only sums: gradients that workers push to a parameter server.
// partition() adds each message onto the sum when it is received, in the order of the terms,
// instead of waiting for all of them; the result has the same bits.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/graph/messages.h"

namespace regatta {

struct MessageSum {
  std::vector<std::size_t> messages;  ///< in the order of the terms
  std::vector<Value> sums;            ///< in the placed graph; sum i adds value i of every message
};

/// Sums of two or more whole messages that nothing else reads. Only f32, because it rounds at every
/// term, and only sums without a factor.
std::vector<MessageSum> message_sums(const Graph& graph, const std::vector<Message>& messages);

}  // namespace regatta
