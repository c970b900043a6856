// SPDX-License-Identifier: Apache-2.0
//
// Finds messages that the receiver only sums: gradients that workers push to a parameter server, or
// send to the one worker that applies the update. partition() makes the receiver add each message
// to the sum as it arrives, in the order of the terms, instead of waiting for all; the result is
// bitwise equal.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "kernels/distribute/messages.h"

namespace regatta {

struct MessageSum {
  /// The sum's first term if it is computed at the sum's place instead of received; only for
  /// messages with one value.
  std::optional<Value> onto;
  /// Numbers of the messages that are the other terms, in order.
  std::vector<std::size_t> messages;
  std::vector<Value> sums;  ///< values of the placed graph; `sums[i]` adds value i of every message
};

/// Returns the sums of two or more whole messages, or of a local value and one or more messages,
/// that no other node reads. Only f32 sums without a factor qualify, because their kernel rounds
/// after every term, as adding one message after another does.
std::vector<MessageSum> message_sums(const Graph& graph, const std::vector<Message>& messages);

}  // namespace regatta
