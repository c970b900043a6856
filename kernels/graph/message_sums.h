// SPDX-License-Identifier: Apache-2.0
//
// Messages that their receiver only adds up: what the workers of a parameter server push. Such a
// sum need not wait until all of its terms are there: partition() has the first message received
// and each further one added onto those before it, in the order of the terms, so that the sum has
// the bits of one that is made at the end.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/graph/messages.h"

namespace regatta {

struct MessageSum {
  std::vector<std::size_t> messages;  ///< in the order of the terms
  std::vector<Value> sums;            ///< of the placed graph; the i-th is of all i-th values
};

/// The sums whose terms are two whole messages or more that nothing else reads. Those of f32 alone,
/// for they round at every term, and without a factor.
std::vector<MessageSum> message_sums(const Graph& graph, const std::vector<Message>& messages);

}  // namespace regatta
