// SPDX-License-Identifier: Apache-2.0
//
// diloco: as local_sgd, but the mean of the parameters is a proposal. Every replica keeps the outer
// parameters, those of the last exchange; in every H-th step an outer optimizer moves them by
// outer - mean as a gradient, and training goes on from there. The outer optimizer is SGD with
// Nesterov momentum, the inner one that of the recipe. Bytes are those of local_sgd.
// With one worker, an outer rate of 1 and no momentum it is `single` within rounding.
// Source: Douillard et al. 2023, arXiv 2311.08105, whose inner optimizer is AdamW and H 500.
#include "strategies/averages.h"
#include "strategies/shared_options.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

constexpr Option kOuterRate = {.name = "outer_rate",
                               .help = "learning rate of the outer optimizer",
                               .unit = "",
                               .type = Real{.usual = 0.7, .least = 0, .most = 10}};
constexpr Option kOuterMomentum = {.name = "outer_momentum",
                                   .help = "Nesterov momentum of the outer optimizer",
                                   .unit = "",
                                   .type = Real{.usual = 0.9, .least = 0, .most = 1}};

VariableId add_slot(Graph& graph, VariableId parameter, const char* suffix,
                    const Initializer& initializer) {
  Variable slot = graph.variable(parameter);
  slot.name += suffix;
  slot.kind = VariableKind::Slot;
  slot.initializer = initializer;
  return graph.add(slot);
}

void update_outer(Builder builder, VariableId parameter, Value mean, const SgdOptions& optimizer) {
  Graph& graph = builder.graph();
  const std::string name = graph.variable(parameter).name;
  const VariableId outer = add_slot(
      graph, parameter, ".outer", {.kind = Initializer::Kind::CopyOf, .scale = 1, .source = name});
  const VariableId velocity = add_slot(graph, parameter, ".outer_velocity", {});
  const Value moved = builder.add(builder.read(outer), builder.scale(mean, -1));
  builder.sgd(moved, outer, velocity, optimizer);
  builder.assign(builder.read(outer), parameter);
}

Step diloco(const Step& step, const StrategyOptions& options) {
  Replicas replicas(step, {.count = options.replicas,
                           .ownership = Ownership::EachReplica,
                           .feed = Feed::Each,
                           .home = {},
                           .sharing = Sharing::None,
                           .strategy = "diloco"});
  update_alone(replicas, step.global_batch);
  const Period period{.every = options.count(kSyncEvery)};
  const std::vector<std::vector<Value>> means =
      mean_parameters(replicas, step.global_batch, period, options.choice(kAlgorithm));
  SgdOptions optimizer{.rate = Schedule::constant(options.real(kOuterRate)),
                       .momentum = options.real(kOuterMomentum)};
  optimizer.nesterov = optimizer.momentum > 0;
  for (std::size_t t = replicas.trainables(); t-- > 0;) {
    for (std::int64_t r = 0; r < replicas.count(); ++r) {
      update_outer(replicas.at_update(t, r).only(period), replicas.parameter(t, r),
                   means[t][static_cast<std::size_t>(r)], optimizer);
    }
  }
  return replicas.finish();
}

}  // namespace

extern constinit const Strategy kDiloco = {
    .name = "diloco",
    .term = "DiLoCo",
    .summary = "as local_sgd, with an outer optimizer on what the mean moved",
    .colour = "#44AA99",
    .workers = WorkersAre::Replicas,
    .exchange = Exchange::Periodic,
    .processes = Processes::OfWorkers,
    .options = options<kSyncEvery, kOuterRate, kOuterMomentum, kAlgorithm, kBucketBytes>,
    .rewrite = diloco};

}  // namespace regatta
