// SPDX-License-Identifier: Apache-2.0
//
// The claims, one function each, in the order of the page. The comment of each is the condition
// that makes it false.
#pragma once

#include <span>

#include "harness/judge/claim_evidence.h"

namespace regatta {

// claims_of_waiting.cpp

/// False when a synchronous strategy beside a slow worker keeps more of its speed than the
/// geometric mean of two cases: waiting for that worker, and losing only that worker's share.
Claim waits_for_slowest(std::span<const Field> fields);
/// False when an asynchronous strategy is slower than 0.9 of `independent` with the same workers.
Claim asynchronous_uses_hardware(std::span<const Field> fields);
/// False when model_parallel reaches 0.7 of `independent` with the same workers.
Claim model_parallel_scales_poorly(std::span<const Field> fields);

// claims_of_learning.cpp

/// False when, at equal examples, the loss of an asynchronous strategy changes from one value to
/// the next by less than 1.1 times as much as that of its synchronous sibling.
Claim asynchronous_is_jittery(std::span<const Field> fields);
/// False when an asynchronous strategy needs less than 1.02 times the examples of its synchronous
/// sibling or, where neither reaches the target, ends at less than 1.02 times its loss.
Claim asynchronous_needs_more_examples(std::span<const Field> fields);
/// False when an asynchronous strategy takes more than 1.05 times the training time to target of
/// its synchronous sibling.
Claim asynchronous_in_equal_time(std::span<const Field> fields);

// claims_of_bytes.cpp

/// False when a server's bytes grow by less than 0.95 of the growth in workers, or when a worker of
/// a ring sends more than twice the parameters.
Claim central_link_carries_all(std::span<const Field> fields);
/// False when parameter_server with one server reaches 0.95 of the speed of all_reduce over as many
/// processes as workers.
Claim central_link_costs_time(std::span<const Field> fields);
/// False when in_graph's graph grows by less than half of the growth in workers.
Claim in_graph_grows(std::span<const Field> fields);
/// False when central_storage reaches 0.95 of the speed of in_graph, which is equal but for having
/// the parameters at a worker.
Claim central_storage_pays_transfers(std::span<const Field> fields);
/// False when with 3 workers or more the busiest place of reduce_to_one sends less than 1.2 times
/// as much as the busiest place of a ring.
Claim reduction_loads_one_device(std::span<const Field> fields);

// claims_of_exchanges.cpp

/// False when averaging only in some steps needs less than 1.02 times the examples of the same
/// strategy with --sync-every 1.
Claim fewer_exchanges_cost_accuracy(std::span<const Field> fields);
/// False when all_reduce with compressed gradients reaches the target in less than 0.95 of the
/// training time of plain all_reduce.
Claim compression_seldom_pays(std::span<const Field> fields);
/// False when sharded with 3 workers or more ends at another loss than all_reduce, or plans as much
/// memory.
Claim sharding_costs_no_accuracy(std::span<const Field> fields);

/// Labels a contestant as in a figure: `async_shared (2 workers, straggler 1:3) on resnet9_thin`.
std::string label(const Contestant& contestant, const Field& field);

/// Finds the field's first contestant of `strategy` with the resources of `of`, preferably with its
/// learning rate, with as many servers if it has any, and with `processes` processes if given; null
/// if there is none. For all_reduce it is the ring. It never has backup workers or a staleness
/// bound.
const std::pair<const Contestant, Runs>* counterpart(
    const Field& field, const Contestant& of, const std::string& strategy,
    std::optional<std::int64_t> processes = std::nullopt);

}  // namespace regatta
