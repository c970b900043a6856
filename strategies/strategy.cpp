// SPDX-License-Identifier: Apache-2.0
#include "strategies/strategy.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "kernels/base/error.h"
#include "kernels/base/names.h"
#include "kernels/graph/collective.h"
#include "strategies/shared_options.h"
#include "strategies/whole_updates.h"

namespace regatta::strategies {

// Each strategy is defined in the file of its name.
extern const Strategy kSingle;
extern const Strategy kIndependent;
extern const Strategy kInGraph;
extern const Strategy kCentralStorage;
extern const Strategy kAllReduce;
extern const Strategy kParameterServer;
extern const Strategy kParameterServerAsync;
extern const Strategy kAsyncShared;
extern const Strategy kModelParallel;
extern const Strategy kPipeline;
extern const Strategy kSharded;
extern const Strategy kLocalSgd;
extern const Strategy kDiloco;
extern const Strategy kPowerSgd;
extern const Strategy kGossip;
extern const Strategy kTopK;
extern const Strategy kBf16Compress;
extern const Strategy kTensorParallel;
extern const Strategy kContextParallel;
extern const Strategy kAdPsgd;
extern const Strategy kQuantized;

namespace {

constexpr std::array kStrategies = {
    &kSingle,
    &kIndependent,
    &kInGraph,
    &kCentralStorage,
    &kAllReduce,
    &kParameterServer,
    &kParameterServerAsync,
    &kAsyncShared,
    &kModelParallel,
    &kPipeline,
    &kSharded,
    &kLocalSgd,
    &kDiloco,
    &kPowerSgd,
    &kGossip,
    &kTopK,
    &kBf16Compress,
    &kTensorParallel,
    &kAdPsgd,
    &kQuantized,
    &kContextParallel,
};

constexpr auto kOptionsOfPasses = options<kMicrobatches, kRecompute>;

bool is_among(std::span<const Option* const> all, const Option& option) {
  return std::find(all.begin(), all.end(), &option) != all.end();
}

/// The letters and digits of a name, in lower case, without `strategy` at the end.
std::string plain(std::string_view name) {
  constexpr std::string_view kEnd = "strategy";
  std::string text;
  for (const unsigned char c : name) {
    if (std::isalnum(c) != 0) text += static_cast<char>(std::tolower(c));
  }
  if (text.ends_with(kEnd)) text.resize(text.size() - kEnd.size());
  return text;
}

/// Our name for a strategy of the literature; empty if unknown.
std::string known_elsewhere(const std::string& name) {
  const std::string given = plain(name);
  for (const Strategy* strategy : kStrategies) {
    const std::string here(strategy->name);
    if (given == plain(here) || given == plain(strategy->term)) return name + " is " + here;
    for (const OtherName& other : strategy->elsewhere) {
      if (other.name.empty() || given != plain(other.name)) continue;
      if (other.is == OtherName::Is::Near)
        return name + " has no equal, and the nearest is " + here;
      const std::string flags(other.flags);
      return name + " is " + here + (flags.empty() ? "" : " with " + flags);
    }
  }
  return "";
}

const Strategy& find_one(const std::string& name) {
  std::vector<std::string> names;
  for (const Strategy* strategy : kStrategies) {
    if (strategy->name == name) return *strategy;
    names.emplace_back(strategy->name);
  }
  if (const std::string known = known_elsewhere(name); !known.empty()) {
    throw RunError(ErrorKind::Usage, "unknown strategy '" + name + "': " + known + " here");
  }
  throw unknown_name("strategy", name, names);
}

}  // namespace

std::span<const Strategy* const> all_strategies() { return kStrategies; }

std::string runnable_name(const Strategy& strategy) {
  const std::string name(strategy.name);
  return strategy.workers == WorkersAre::ThoseOfPrevious ? "all_reduce+" + name : name;
}

std::span<const Option* const> all_options() {
  static const std::vector<const Option*> all = [] {
    std::vector<const Option*> options = options_of(kStrategies);
    for (const Option* option : kOptionsOfPasses) {
      if (!is_among(options, *option)) options.push_back(option);
    }
    return options;
  }();
  return all;
}

std::vector<const Option*> options_of(std::span<const Strategy* const> strategies) {
  std::vector<const Option*> all;
  for (const Strategy* strategy : strategies) {
    for (const Option* option : strategy->options) {
      if (!is_among(all, *option)) all.push_back(option);
    }
  }
  return all;
}

std::span<const Option* const> options_of_passes() { return kOptionsOfPasses; }

bool changes_nothing(const Option& option, const OptionValue& value) {
  return value ==
         (&option == &kMicrobatches ? OptionValue{std::int64_t{1}} : option.default_value());
}

bool has_default(std::string_view strategy, const Option& option) {
  const std::string parts = '+' + std::string(strategy) + '+';
  return !is_among(kOptionsOfPasses, option) ||
         std::any_of(kStrategies.begin(), kStrategies.end(), [&](const Strategy* each) {
           return is_among(each->options, option) &&
                  parts.find('+' + std::string(each->name) + '+') != parts.npos;
         });
}

std::string names_of_declarers(const Option& option) {
  if (is_among(kOptionsOfPasses, option)) return "every strategy";
  std::vector<std::string_view> names;
  for (const Strategy* each : kStrategies) {
    if (is_among(each->options, option)) names.push_back(each->name);
  }
  return enumerated(names);
}

void check_options(const std::string& strategy, const OptionValues& given) {
  OptionValues of_strategies = given;
  for (const Option* option : kOptionsOfPasses) {
    const auto found = of_strategies.find(option->name);
    if (found == of_strategies.end()) continue;
    option->check(found->second);
    of_strategies.erase(found);
  }
  regatta::check_options(
      of_strategies,
      {.title = "strategy '" + strategy + "'", .options = options_of(find_strategies(strategy))},
      all_options(), names_of_declarers);
}

std::vector<const Strategy*> find_strategies(const std::string& name) {
  std::vector<const Strategy*> found;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = std::min(name.find('+', begin), name.size());
    found.push_back(&find_one(name.substr(begin, end - begin)));
    if (end == name.size()) return found;
    begin = end + 1;
  }
}

std::vector<std::int64_t> dealt_groups(std::int64_t groups, std::int64_t replicas,
                                       std::int64_t backups) {
  std::vector<std::int64_t> dealt;
  for (std::int64_t r = 0; r < replicas + backups; ++r) {
    dealt.push_back(share(groups, replicas, r % replicas).size());
  }
  return dealt;
}

std::string_view to_string(Exchange exchange) {
  switch (exchange) {
    case Exchange::Nothing: return "nothing";
    case Exchange::Synchronous: return "synchronous";
    case Exchange::Compressed: return "compressed";
    case Exchange::Periodic: return "periodic";
    case Exchange::Asynchronous: return "asynchronous";
  }
  return "unknown";
}

std::string_view to_string(Processes processes) {
  switch (processes) {
    case Processes::One: return "one";
    case Processes::OfPlaces: return "places";
    case Processes::OfWorkers: return "workers";
    case Processes::WithServers: return "workers and servers";
  }
  return "unknown";
}

bool any_has(std::span<const Strategy* const> strategies, WorkersAre workers) {
  return std::any_of(strategies.begin(), strategies.end(),
                     [&](const Strategy* each) { return each->workers == workers; });
}

Alike alike_workers(std::span<const Strategy* const> strategies, const StrategyOptions& options,
                    const Step& workload) {
  const auto all_build = [&](auto... may_build) {
    return std::all_of(strategies.begin(), strategies.end(),
                       [=](const Strategy* each) { return ((each->builds == may_build) || ...); });
  };
  const bool deals_whole_updates = std::any_of(
      workload.trainables.begin(), workload.trainables.end(),
      [&](const Trainable& trainable) { return updates_whole(workload.graph, trainable); });
  const std::int64_t groups = workload.global_batch / workload.normalization_group;
  Alike alike;
  if (all_build(Builds::OneOfAlike)) alike.shards = options.shards;
  if (all_build(Builds::OneOfAlike, Builds::EveryShard) && groups % options.replicas == 0 &&
      !deals_whole_updates) {
    alike.replicas = options.replicas;
  }
  return alike;
}

Exchange exchange_of(std::span<const Strategy* const> strategies) {
  for (const Strategy* strategy : strategies) {
    if (strategy->exchange != Exchange::Synchronous) return strategy->exchange;
  }
  return Exchange::Synchronous;
}

}  // namespace regatta::strategies
