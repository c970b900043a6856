// SPDX-License-Identifier: Apache-2.0
//
// diloco: like local_sgd, but the mean of the parameters is only a proposal. Every replica keeps
// the outer parameters, those of the last exchange; in every H-th step an outer optimizer moves
// them with the mean of outer - own as gradient, and training continues from there. The outer
// optimizer is SGD with Nesterov momentum, the inner one that of the recipe. The traffic equals
// local_sgd's; a strategy composed after diloco may compress the outer gradients (gradient_sums.h).
// With one worker, an outer rate of 1 and no momentum it equals `single` within rounding. Source:
// Douillard et al. 2023, arXiv 2311.08105, with AdamW inside and H = 500.
//
// Streaming: the parameters are divided into F fragments, in their order. Fragment f is exchanged
// after step (f + 1) H / F, counted from 1, and every H steps later; a step sends at most 1 / F of
// the bytes. With a delay T > 0 each replica saves the fragment at that step, the exchange overlaps
// with the next step, and T steps later the outer optimizer moves the fragment: w becomes A w + (1
// - A) outer. F = 1, T = 0, A = 0 is bitwise equal to diloco without streaming. Source: Douillard
// et al. 2025, arXiv 2501.18512, algorithm 2.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/graph/collective.h"
#include "strategies/averages.h"
#include "strategies/front.h"
#include "strategies/gradient_sums.h"
#include "strategies/shared_options.h"
#include "strategies/stages.h"
#include "strategies/strategy.h"
#include "strategies/summing.h"

namespace regatta::strategies {
namespace {

constexpr Option kOuterRate = {.name = "outer_rate",
                               .help = "learning rate of the outer optimizer",
                               .unit = "",
                               .type = Real{.default_value = 0.7, .least = 0, .most = 10}};
constexpr Option kOuterMomentum = {.name = "outer_momentum",
                                   .help = "Nesterov momentum of the outer optimizer",
                                   .unit = "",
                                   .type = Real{.default_value = 0.9, .least = 0, .most = 1}};
constexpr Option kFragments = {
    .name = "fragments",
    .help = "parts of the parameters that are exchanged in turn; divides --sync-every",
    .unit = "",
    .type = Count{.default_value = 1, .least = 1}};
constexpr Option kDelay = {
    .name = "delay",
    .help =
        "steps from an exchange to where its result is applied; less than --sync-every divided "
        "by --fragments",
    .unit = "steps",
    .type = Count{.default_value = 0}};
constexpr Option kMix = {.name = "mix",
                         .help = "share of a worker's own parameters in those it goes on from",
                         .unit = "",
                         .type = Real{.default_value = 0, .least = 0, .most = 1}};

/// The steps in which each fragment is exchanged.
class Timetable {
 public:
  /// Throws: RunError(Usage).
  Timetable(const Step& step, const StrategyOptions& options)
      : every_(options.count(kSyncEvery)),
        fragments_(options.count(kFragments)),
        delay_(options.count(kDelay)) {
    const auto refuse = [](const std::string& text) { throw RunError(ErrorKind::Usage, text); };
    const std::string fragments = "--fragments is " + std::to_string(fragments_);
    if (every_ % fragments_ != 0) {
      refuse(fragments + ": it has to divide --sync-every, which is " + std::to_string(every_));
    }
    if (fragments_ > std::ssize(step.trainables)) {
      refuse(fragments + ": this model has " + std::to_string(step.trainables.size()) +
             " parameters to deal to them; fix: give that many or fewer");
    }
    if (delay_ >= every_ / fragments_) {
      refuse("--delay is " + std::to_string(delay_) + ": it has to be less than --sync-every / " +
             "--fragments, the " + std::to_string(every_ / fragments_) +
             " steps from one exchange to the next");
    }
    std::vector<std::int64_t> elements;
    for (const Trainable& trainable : step.trainables) {
      elements.push_back(step.graph.variable(trainable.variable).type.elements());
    }
    fragment_of_ = deal_in_order(elements, fragments_);
  }

  std::int64_t delay() const { return delay_; }

  /// The steps that come `later` steps after the trainable's exchange.
  Period of(std::size_t trainable, std::int64_t later) const {
    const std::int64_t first = (fragment_of_[trainable] + 1) * (every_ / fragments_);
    return {.every = every_, .from = 0, .lag = first - every_ + later};
  }

 private:
  std::int64_t every_;
  std::int64_t fragments_;
  std::int64_t delay_;
  std::vector<int> fragment_of_;  ///< by trainable
};

VariableId add_slot(Graph& graph, VariableId parameter, const char* suffix,
                    const Initializer& initializer = {}) {
  Variable slot = graph.variable(parameter);
  slot.name += suffix;
  slot.kind = VariableKind::Slot;
  slot.initializer = initializer;
  slot.judged = {};
  return graph.add(slot);
}

/// `mix`: weight of the replica's own parameter.
void update_outer(Builder builder, VariableId parameter, VariableId outer, Value gradient,
                  const SgdOptions& optimizer, double mix) {
  const VariableId velocity = add_slot(builder.graph(), parameter, ".outer_velocity");
  builder.sgd(gradient, outer, velocity, optimizer);
  const Value global = builder.read(outer);
  if (mix == 0) {
    builder.assign(global, parameter);
    return;
  }
  const Value own = builder.scale(builder.read(parameter), mix);
  builder.assign(builder.add(own, builder.scale(global, 1 - mix)), parameter);
}

class Diloco {
 public:
  Diloco(const Step& step, const StrategyOptions& options)
      : options_(options),
        global_batch_(step.global_batch),
        timetable_(step, options),
        replicas_(step, {.count = options.replicas,
                         .ownership = Ownership::EachReplica,
                         .feed = Feed::Each,
                         .home = {},
                         .sharing = Sharing::None,
                         .judged = Judged::Mean,
                         .strategy = "diloco"}) {}

  Step rewritten() {
    update_alone(replicas_, global_batch_);
    add_outer();
    if (timetable_.delay() == 0) {
      move(exchange([&](std::size_t t, std::int64_t r) { return replicas_.parameter(t, r); }));
      return replicas_.finish();
    }
    keep();
    auto gradients = exchange([&](std::size_t t, std::int64_t r) { return kept_[t][at(r)]; });
    if (timetable_.delay() > 1) wait(gradients);
    move(gradients);
    const Step step = replicas_.finish();
    std::set<NodeId> exchanges;
    for (NodeId id = 0; id < static_cast<NodeId>(step.graph.nodes().size()); ++id) {
      if (is_collective(step.graph.node(id).op)) exchanges.insert(id);
    }
    return in_front(step, std::move(exchanges));
  }

 private:
  using Values = std::vector<std::vector<Value>>;  ///< by trainable and replica

  static std::size_t at(std::int64_t replica) { return static_cast<std::size_t>(replica); }

  template <typename Visit>
  void for_each_parameter(std::int64_t later, Visit&& visit) {
    for (std::size_t t = replicas_.trainables(); t-- > 0;) {
      for (std::int64_t r = 0; r < replicas_.count(); ++r) {
        visit(replicas_.at_update(t, r).only(timetable_.of(t, later)), t, r);
      }
    }
  }

  void add_outer() {
    outer_.resize(replicas_.trainables());
    for_each_parameter(0, [&](Builder builder, std::size_t t, std::int64_t r) {
      Graph& graph = builder.graph();
      const VariableId parameter = replicas_.parameter(t, r);
      const Initializer first = first_value_of(graph.variable(parameter));
      outer_[t].push_back(add_slot(graph, parameter, ".outer", first));
    });
  }

  /// Returns the outer gradients: the mean over replicas of outer - own for each parameter.
  Values exchange(const std::function<VariableId(std::size_t, std::int64_t)>& variable) {
    const std::int64_t later = std::min<std::int64_t>(timetable_.delay(), 1);
    return mean_values(replicas_, global_batch_,
                       {.value =
                            [&](Builder& builder, std::size_t t, std::int64_t r) {
                              const Value outer = builder.read(outer_[t][at(r)]);
                              return builder.add(outer,
                                                 builder.scale(builder.read(variable(t, r)), -1));
                            },
                        .period = [this, later](std::size_t t) { return timetable_.of(t, later); },
                        .algorithm = algorithm_of(options_),
                        .mark = kOuterGradient});
  }

  /// Saves the parameters that will be exchanged.
  void keep() {
    kept_.resize(replicas_.trainables());
    for_each_parameter(0, [&](Builder builder, std::size_t t, std::int64_t r) {
      const VariableId parameter = replicas_.parameter(t, r);
      kept_[t].push_back(add_slot(builder.graph(), parameter, ".exchanged"));
      builder.assign(builder.read(parameter), kept_[t].back());
    });
  }

  /// Stores the outer gradients in variables until they are applied.
  void wait(Values& gradients) {
    for_each_parameter(1, [&](Builder builder, std::size_t t, std::int64_t r) {
      builder.assign(gradients[t][at(r)], kept_[t][at(r)]);
    });
    for_each_parameter(timetable_.delay(), [&](Builder builder, std::size_t t, std::int64_t r) {
      gradients[t][at(r)] = builder.read(kept_[t][at(r)]);
    });
  }

  void move(const Values& gradients) {
    SgdOptions optimizer{.rate = Schedule::constant(options_.real(kOuterRate)),
                         .momentum = options_.real(kOuterMomentum)};
    optimizer.nesterov = optimizer.momentum > 0;
    const double mix = options_.real(kMix);
    for_each_parameter(timetable_.delay(), [&](Builder builder, std::size_t t, std::int64_t r) {
      update_outer(builder, replicas_.parameter(t, r), outer_[t][at(r)], gradients[t][at(r)],
                   optimizer, mix);
    });
  }

  const StrategyOptions& options_;
  std::int64_t global_batch_;
  Timetable timetable_;
  Replicas replicas_;
  std::vector<std::vector<VariableId>> outer_, kept_;  ///< by trainable and replica
};

Step diloco(const Step& step, const StrategyOptions& options) {
  return Diloco(step, options).rewritten();
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
    .options = options<kSyncEvery, kOuterRate, kOuterMomentum, kFragments, kDelay, kMix, kAlgorithm,
                       kTorusSides, kBucketBytes>,
    .rewrite = diloco};

}  // namespace regatta::strategies
