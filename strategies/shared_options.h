// SPDX-License-Identifier: Apache-2.0
//
// Options that several strategies declare, or that the harness also reads when it plans a run.
#pragma once

#include <array>
#include <string_view>

#include "kernels/graph/collective.h"
#include "strategies/strategy_options.h"

namespace regatta::strategies {

inline constexpr Option kBucketBytes = {
    .name = "bucket_bytes",
    .help = "gradients travel in buckets of at least this many bytes; 0: each by itself",
    .unit = "bytes",
    .type = Count{.default_value = 4 * 1024 * 1024}};

/// Option of every strategy. The pass `accumulate` reads it, unless the strategy declares it and
/// has a schedule of its own.
inline constexpr Option kMicrobatches = {
    .name = "microbatches",
    .help =
        "parts of a worker's share of the batch, in whole normalisation groups, whose gradients "
        "are added up; those of a pipeline follow each other through its stages; elsewhere each "
        "ends before the next begins, which saves memory (default elsewhere: 1)",
    .unit = "",
    .type = Count{.default_value = 4, .least = 1, .most = 1024}};

inline constexpr std::string_view kFull = "full";
inline constexpr std::string_view kSums = "sums";
inline constexpr std::array<std::string_view, 4> kRecomputations = {"none", "selective", kFull,
                                                                    kSums};
/// Option of every strategy. The pass `recompute` reads it.
inline constexpr Option kRecompute = {
    .name = "recompute",
    .help =
        "activations that backward computes again instead of keeping them, which saves memory: "
        "none, selective (those that cost few multiply-adds for their bytes), full (all but the "
        "inputs of blocks), or sums (and the sums of shards, which are exchanged again)",
    .unit = "",
    .type = Choice{.default_value = kRecomputations[0], .words = kRecomputations}};

inline constexpr std::array<std::string_view, 3> kShardWords = {"optimizer", "gradients",
                                                                "parameters"};
/// The harness warns if the given value frees no memory.
inline constexpr Option kShard = {
    .name = "shard",
    .help =
        "what a worker keeps a share of: optimizer (parameters and slots, ZeRO-1), gradients "
        "(and these, ZeRO-2), or parameters (and those that it gathers, ZeRO-3)",
    .unit = "",
    .type = Choice{.default_value = kShardWords[0], .words = kShardWords}};

inline constexpr Option kServers = {
    .name = "servers",
    .help = "parameter servers, each a process where there are several processes",
    .unit = "",
    .type = Count{.default_value = 1, .least = 1, .most = 1024}};

/// Option of strategies with shards. The harness uses it to deal the workers of a composition.
inline constexpr Option kShardCount = {
    .name = "shards",
    .help =
        "shards of each stage, or of each replica, in a composition such as "
        "all_reduce+tensor_parallel; by itself, a strategy with shards has as many as --workers",
    .unit = "",
    .type = Count{.default_value = std::nullopt, .least = 1}};

/// Option of strategies with stages or shards. The harness uses it to place them.
inline constexpr Option kStagesPerProcess = {
    .name = "stages_per_process",
    .help =
        "stages or shards of a replica in each process of --processes; by default one process has "
        "them all, or several share them if there are more processes than replicas",
    .unit = "",
    .type = Count{.default_value = std::nullopt, .least = 1}};

/// Option of strategies that divide the model.
inline constexpr Option kStageParts = {
    .name = "stage_parts",
    .help =
        "parts of the model at each stage, or of each chunk, in order, such as 8,5; else as even "
        "as their multiply-adds and bytes let them be",
    .unit = "",
    .type = Counts{}};

/// Option of strategies with workers that do not wait for each other.
inline constexpr Option kStalenessBound = {
    .name = "staleness_bound",
    .help = "steps that an asynchronous worker may lead the slowest by",
    .unit = "steps",
    .type = Count{.default_value = std::nullopt}};

inline constexpr std::array kAlgorithms = {
    kRing, kReduceToOne, kHierarchicalCopy, kDoubleTree, kTorus, kMpi, kNccl};
inline constexpr Option kAlgorithm = {
    .name = "all_reduce",
    .help =
        "how workers sum gradients, and shards activations: ring, reduce_to_one, "
        "hierarchical_copy, double_tree, torus, mpi (over --processes), or nccl (between GPUs; "
        "ring is NCCL's there, too)",
    .unit = "",
    .type = Choice{.default_value = kRing, .words = kAlgorithms}};

inline constexpr Option kTorusSides = {
    .name = "torus",
    .help =
        "XxY, the columns by the rows of --all-reduce torus, such as 4x2 of 8 replicas; else "
        "as near to a square as there are divisors",
    .unit = "",
    .type = Sides{}};

}  // namespace regatta::strategies
