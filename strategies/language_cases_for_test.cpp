// SPDX-License-Identifier: Apache-2.0
#include "strategies/language_cases_for_test.h"

#include <string>

namespace regatta::strategies {

using testing_support::Case;

void add_shards_of_stages(const Case& base, std::vector<Case>& cases) {
  for (const char* strategy :
       {"model_parallel+tensor_parallel", "pipeline+tensor_parallel",
        "all_reduce+model_parallel+tensor_parallel", "all_reduce+pipeline+tensor_parallel"}) {
    Case test = base;
    test.strategy = strategy;
    test.replicas = test.strategy.starts_with("all_reduce") ? 2 : 1;
    test.stages = test.shards = 2;
    if (test.strategy.find("pipeline") != test.strategy.npos) test.options["microbatches"] = 2;
    cases.push_back(test);
  }
}

std::vector<Case> language_cases() {
  std::vector<Case> cases;
  for (std::int64_t batch : {12, 11}) {
    for (std::int64_t n : {2, 3, 4, 8}) {
      for (const char* strategy :
           {"in_graph", "central_storage", "all_reduce", "sharded", "parameter_server"}) {
        cases.push_back(
            {.workload = "gpt_narrow", .strategy = strategy, .replicas = n, .global_batch = batch});
      }
    }
    for (std::int64_t stages : {2, 3}) {
      cases.push_back({.workload = "gpt_narrow",
                       .strategy = "model_parallel",
                       .stages = stages,
                       .global_batch = batch});
      cases.push_back({.workload = "gpt_narrow",
                       .strategy = "pipeline",
                       .stages = stages,
                       .global_batch = batch,
                       .options = {{"microbatches", 3}}});
      for (const char* workload : {"gpt_narrow", "llama_narrow"}) {
        cases.push_back({.workload = workload,
                         .strategy = "tensor_parallel",
                         .shards = stages,
                         .global_batch = batch});
        cases.push_back({.workload = workload,
                         .strategy = "all_reduce+tensor_parallel",
                         .replicas = 2,
                         .shards = stages,
                         .global_batch = batch});
      }
    }
  }
  for (const char* workload : {"gpt_narrow", "llama_narrow"}) {
    add_shards_of_stages({.workload = workload, .global_batch = 11}, cases);
    cases.push_back({.workload = workload,  // some shards hold no gradient of their own to clip
                     .strategy = "pipeline+tensor_parallel",
                     .stages = 8,
                     .shards = 2,
                     .global_batch = 11,
                     .options = {{"microbatches", 2}}});
  }
  for (const std::int64_t shards : {2, 3}) {
    for (const char* recompute : {"selective", "full"}) {
      cases.push_back({.workload = "gpt_narrow",
                       .strategy = "tensor_parallel",
                       .shards = shards,
                       .global_batch = 11,
                       .options = {{"microbatches", 2}, {"recompute", recompute}}});
    }
    cases.push_back({.workload = "llama_narrow",
                     .strategy = "tensor_parallel",
                     .shards = shards,
                     .global_batch = 11,
                     .element = ElementType::BF16});
  }
  for (const char* schedule : {"gpipe", "zero_bubble"}) {
    cases.push_back({.workload = "gpt_narrow",
                     .strategy = "pipeline+tensor_parallel",
                     .stages = 3,
                     .shards = 2,
                     .global_batch = 11,
                     .options = {{"microbatches", 3}, {"schedule", schedule}}});
  }
  for (const Case& with_whole_values : std::vector<Case>(cases)) {  // for two shards of 8 tokens
    if (with_whole_values.shards != 2) continue;
    cases.push_back(with_whole_values);
    cases.back().options["sequence_parallel"] = "yes";
  }
  for (const std::int64_t shards : {3, 4}) {  // of 24 tokens
    cases.push_back({.workload = "gpt_context",
                     .strategy = "tensor_parallel",
                     .shards = shards,
                     .global_batch = 11,
                     .options = {{"sequence_parallel", "yes"}}});
  }
  for (const char* shard : {"gradients", "parameters"}) {
    cases.push_back({.workload = "gpt_narrow",
                     .strategy = "sharded",
                     .replicas = 3,
                     .global_batch = 11,
                     .options = {{"shard", shard}}});
  }
  for (const char* strategy : {"all_reduce", "parameter_server", "sharded", "tensor_parallel"}) {
    const bool shards = std::string(strategy) == "tensor_parallel";
    cases.push_back({.workload = "gpt_narrow_sgd",
                     .strategy = strategy,
                     .replicas = shards ? 1 : 3,
                     .shards = shards ? 3 : 1,
                     .global_batch = 11});
    if (shards) continue;
    cases.push_back({.workload = "llama_narrow",
                     .strategy = strategy,
                     .replicas = 3,
                     .global_batch = 11,
                     .element = ElementType::BF16});
  }
  return cases;
}

std::vector<Case> context_cases() {
  std::vector<Case> cases;
  for (const char* workload : {"gpt_context", "llama_context"}) {
    for (const char* by_tokens : {"no", "yes"}) {
      cases.push_back({.workload = workload,
                       .strategy = "tensor_parallel",
                       .shards = 8,
                       .global_batch = 11,
                       .options = {{"sequence_parallel", by_tokens}}});
    }
    for (const char* exchange : {"ring", "ulysses"}) {
      const OptionValues by{{"context_exchange", exchange}};
      const auto add = [&](Case test, const OptionValues& more) {
        test.workload = workload;
        test.global_batch = 11;
        test.options = by;
        test.options.insert(more.begin(), more.end());
        cases.push_back(test);
      };
      for (std::int64_t shards : {2, 3, 4}) {
        add({.strategy = "context_parallel", .shards = shards}, {});
        add({.strategy = "context_parallel", .shards = shards, .element = ElementType::BF16}, {});
      }
      add({.strategy = "context_parallel", .shards = 12}, {});  // a token in each chunk
      add({.strategy = "context_parallel", .shards = 2}, {{"all_reduce", "reduce_to_one"}});
      add({.strategy = "context_parallel", .shards = 3}, {{"microbatches", 2}});
      for (const char* recompute : {"selective", "full"}) {
        add({.strategy = "context_parallel", .shards = 3}, {{"recompute", recompute}});
      }
      add({.strategy = "all_reduce+context_parallel", .replicas = 2, .shards = 3}, {});
      add({.strategy = "in_graph+context_parallel", .replicas = 3, .shards = 2}, {});
      add({.strategy = "all_reduce+context_parallel", .replicas = 3, .shards = 2},
          {{"microbatches", 2}, {"recompute", "full"}});
      add({.strategy = "model_parallel+context_parallel", .stages = 3, .shards = 2}, {});
      add({.strategy = "pipeline+context_parallel", .stages = 2, .shards = 2},
          {{"microbatches", 3}});
      add({.strategy = "all_reduce+pipeline+context_parallel",
           .replicas = 2,
           .stages = 2,
           .shards = 2},
          {{"microbatches", 2}});
    }
  }
  return cases;
}

std::vector<Case> muon_cases() {
  std::vector<Case> cases;
  for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
    for (std::int64_t n : {2, 3, 4}) {
      for (const char* strategy : {"in_graph", "all_reduce", "sharded"}) {
        cases.push_back({.workload = "gpt_narrow_muon",
                         .strategy = strategy,
                         .replicas = n,
                         .global_batch = 11,
                         .element = element});
      }
    }
    cases.push_back({.workload = "gpt_narrow_muon",
                     .strategy = "parameter_server",
                     .replicas = 3,
                     .global_batch = 11,
                     .element = element,
                     .options = {{"servers", 2}}});
    cases.push_back({.workload = "gpt_narrow_muon",
                     .strategy = "sharded+pipeline",
                     .replicas = 2,
                     .stages = 2,
                     .global_batch = 11,
                     .element = element,
                     .options = {{"microbatches", 3}}});
  }
  return cases;
}

}  // namespace regatta::strategies
