// SPDX-License-Identifier: Apache-2.0
//
// The claims, one function each, in the order of the report. Each comment states the condition
// that would refute the claim.
#pragma once

#include <span>

#include "harness/judge/claim_evidence.h"

namespace regatta::judge {

// claims_of_waiting.cpp

/// Refuted if a synchronous strategy with one slow worker keeps more of its speed than the
/// geometric mean of two predictions. In one, every step waits for the slow worker; in the other,
/// only the slow worker's share of the speed is lost.
Claim waits_for_slowest(std::span<const Field> fields);
/// Refuted if an asynchronous strategy is slower than 0.9 times the speed of `independent` with the
/// same number of workers.
Claim asynchronous_uses_hardware(std::span<const Field> fields);
/// Refuted if model_parallel reaches 0.7 times the speed of `independent` with the same number of
/// workers.
Claim model_parallel_scales_poorly(std::span<const Field> fields);

// claims_of_learning.cpp

/// Refuted if the loss of an asynchronous strategy changes from one global batch to the next by
/// less than 1.1 times the change under its synchronous sibling (parameter_server for
/// parameter_server_async, else all_reduce).
Claim asynchronous_is_jittery(std::span<const Field> fields);
/// Refuted if an asynchronous strategy needs less than 1.02 times the examples of its synchronous
/// sibling or, where neither reaches the target, ends at less than 1.02 times the sibling's loss.
Claim asynchronous_needs_more_examples(std::span<const Field> fields);
/// Refuted if an asynchronous strategy takes more than 1.05 times the training time to the target
/// of its synchronous sibling.
Claim asynchronous_in_equal_time(std::span<const Field> fields);

// claims_of_bytes.cpp

/// Refuted if f times as many workers make a parameter server send less than 0.95 f times the
/// bytes, or if a worker of a ring sends more than twice the size of the parameters.
Claim central_link_carries_all(std::span<const Field> fields);
/// Refuted if parameter_server with one server reaches 0.95 times the speed of all_reduce by ring
/// with one process per worker.
Claim central_link_costs_time(std::span<const Field> fields);
/// Refuted if the graph of in_graph grows by less than half of the growth in workers, or if the
/// graph of a process of all_reduce grows by at least half of the growth of in_graph's.
Claim in_graph_grows(std::span<const Field> fields);
/// Refuted if central_storage, which keeps the parameters on the host, reaches 0.95 times the speed
/// of in_graph, which keeps them at a worker and is otherwise equal.
Claim central_storage_pays_transfers(std::span<const Field> fields);
/// Refuted if, with 3 workers or more, the busiest place of all_reduce by reduce_to_one sends less
/// than 1.2 times the bytes of the busiest place of a ring.
Claim reduction_loads_one_device(std::span<const Field> fields);

// claims_of_exchanges.cpp

/// Refuted if a strategy that averages only in some steps needs less than 1.02 times the examples
/// of the same strategy with --sync-every 1.
Claim fewer_exchanges_cost_accuracy(std::span<const Field> fields);
/// Refuted if diloco with one worker, which exchanges nothing, needs more than 0.98 times the
/// examples of `single`. Its lines also compare diloco with several workers with that one worker.
Claim outer_optimizer_helps(std::span<const Field> fields);
/// Refuted if all_reduce with compressed gradients reaches the target in less than 0.95 times the
/// training time of all_reduce without compression.
Claim compression_seldom_pays(std::span<const Field> fields);
/// Refuted if sharded with 3 workers or more ends at a loss that differs from all_reduce's by more
/// than 1e-6 of it, or plans at least as much memory.
Claim sharding_costs_no_accuracy(std::span<const Field> fields);

/// Labels a contestant as in a figure: `async_shared (2 workers, straggler 1:3) on resnet9_thin`.
std::string label(const Contestant& contestant, const Field& field);

/// Finds the contestant that uses `strategy` and is to be compared with the contestant `of`. It has
/// the same resources, the same values of the options that both strategies have, defaults for its
/// other options, and `processes` processes if given. One with the learning rate of `of` is
/// preferred, else the first is returned. Null if there is none.
const std::pair<const Contestant, Runs>* counterpart(
    const Field& field, const Contestant& of, const std::string& strategy,
    std::optional<std::int64_t> processes = std::nullopt);

}  // namespace regatta::judge
