// SPDX-License-Identifier: Apache-2.0
//
// gossip: every replica trains on its own and, behind every step k, pushes half of what it has to
// one peer: replica i to (i + 2^(k mod L)) mod n, L = ceil(log2 n). What it has is x, for each
// parameter, and w, one number that is 1 at first; what it keeps and what arrives add up. z = x / w
// is the parameter that it computes its gradients with; the optimizer moves x. After L steps
// without gradients every z is the mean of all, exactly so where n is a power of two. A replica
// sends M + 4 bytes a step, for M of parameters, however many there are. A gradient is n times a
// replica's share of the global batch's: so the mean of all x moves as under a synchronous
// strategy, where the optimizer is linear. While every half arrives in its step, as many halves
// come as go, and w stays 1. With an overlap of a step they travel beside the next one and arrive
// behind it: a third of everything is under way, and w, on its way to 2/3, tells how much. Source:
// Assran et al. 2019, arXiv 1811.10792, algorithms 1 and 2; the peers: its section 4.
#include <bit>
#include <set>
#include <utility>

#include "kernels/graph/period.h"
#include "strategies/front.h"
#include "strategies/replicas.h"
#include "strategies/strategy.h"

namespace regatta {
namespace {

constexpr Option kOverlap = {
    .name = "overlap",
    .help = "steps beside which what is pushed travels; 0: it arrives in its step",
    .unit = "steps",
    .type = Count{.usual = 0, .least = 0, .most = 1}};

/// What one replica pushes half of: x of a parameter, or w.
struct Pushed {
  VariableId kept = -1;  ///< holds it from step to step
  VariableId sent = -1;  ///< with an overlap: the half that was pushed behind the last step
  Value half;
  Value leaving;  ///< the half that travels in this step
};

class Gossip {
 public:
  Gossip(const Step& step, const StrategyOptions& options)
      : overlaps_(options.count(kOverlap) > 0),
        replicas_(step, {.count = options.replicas,
                         .ownership = Ownership::EachReplica,
                         .feed = Feed::Each,
                         .home = {},
                         .sharing = Sharing::None,
                         .judged = Judged::Mean,
                         .strategy = "gossip"}) {}

  Step rewritten() {
    if (replicas_.count() == 1) {
      for (std::size_t t = replicas_.trainables(); t-- > 0;) {
        replicas_.update(t, 0, replicas_.gradient(t, 0));
      }
      return replicas_.finish();
    }
    for (std::size_t t = replicas_.trainables(); t-- > 0;) update(t);
    add_weight();
    for (const auto& [t, own] : pushed_) push(t, own);
    for (const auto& [t, own] : pushed_) leave(t, own);
    for (std::size_t t = replicas_.trainables(); t-- > 0;) divide(t);
    const Step step = replicas_.finish();
    return overlaps_ ? in_front(step, std::exchange(leaving_, {})) : step;
  }

 private:
  /// One quantity at all replicas, and the trainable beside whose update it is.
  using OfReplicas = std::vector<Pushed>;

  std::int64_t count() const { return replicas_.count(); }
  static std::size_t at(std::int64_t replica) { return static_cast<std::size_t>(replica); }

  VariableId add_variable(Builder& builder, std::size_t t, std::int64_t r, std::string name,
                          const TensorType& type, const Initializer& initializer) {
    return builder.graph().add(
        {.name = std::move(name),
         .type = type,
         .kind = VariableKind::Slot,
         .initializer = initializer,
         .place = builder.graph().variable(replicas_.parameter(t, r)).place});
  }

  /// Half of what a variable has, and what leaves in this step.
  Pushed halved(Builder& builder, std::size_t t, std::int64_t r, VariableId kept, Value whole) {
    Pushed own{.kept = kept, .sent = -1, .half = builder.scale(whole, 0.5), .leaving = {}};
    own.leaving = own.half;
    if (overlaps_) {
      const Variable& variable = builder.graph().variable(kept);
      own.sent = add_variable(builder, t, r, variable.name + ".sent", variable.type, {});
      own.leaving = builder.read(own.sent);
      leaving_.insert(own.leaving.node);
    }
    return own;
  }

  /// The optimizer moves x, in the parameter's place.
  void update(std::size_t t) {
    OfReplicas all;
    for (std::int64_t r = 0; r < count(); ++r) {
      Builder builder = replicas_.at_update(t, r);
      const VariableId parameter = replicas_.parameter(t, r);
      const Variable z = builder.graph().variable(parameter);
      const VariableId x =
          add_variable(builder, t, r, z.name + ".pushed", z.type, first_value_of(z));
      builder.assign(builder.read(x), parameter);
      replicas_.update(t, r, builder.scale(replicas_.gradient(t, r), static_cast<double>(count())));
      all.push_back(halved(builder, t, r, x, builder.read(parameter)));
    }
    pushed_.emplace_back(t, std::move(all));
  }

  void add_weight() {
    OfReplicas all;
    for (std::int64_t r = 0; r < count(); ++r) {
      Builder builder = replicas_.at_update(0, r);
      const VariableId w = add_variable(builder, 0, r, "push_weight", {ElementType::F32, {1}},
                                        {.kind = Initializer::Kind::Ones});
      all.push_back(halved(builder, 0, r, w, builder.read(w)));
    }
    pushed_.emplace_back(0, std::move(all));
  }

  /// An exchange for each distance that a push goes, in its turn.
  void push(std::size_t t, const OfReplicas& own) {
    const int rounds = std::bit_width(static_cast<std::uint64_t>(count() - 1));
    for (int k = 0; k < rounds; ++k) {
      for (std::int64_t r = 0; r < count(); ++r) {
        const std::int64_t from = (r + count() - (std::int64_t{1} << k)) % count();
        Builder builder = replicas_.at_update(t, r).only({.every = rounds, .lag = k + 1 - rounds});
        builder.assign(builder.sum({own[at(r)].half, own[at(from)].leaving}), own[at(r)].kept);
      }
    }
  }

  /// Behind all exchanges that read what the last step has left.
  void leave(std::size_t t, const OfReplicas& own) {
    if (!overlaps_) return;
    for (std::int64_t r = 0; r < count(); ++r) {
      replicas_.at_update(t, r).assign(own[at(r)].half, own[at(r)].sent);
    }
  }

  void divide(std::size_t t) {
    const OfReplicas& x = pushed_[replicas_.trainables() - 1 - t].second;
    const OfReplicas& w = pushed_.back().second;
    for (std::int64_t r = 0; r < count(); ++r) {
      const Value weight = replicas_.at_update(0, r).read(w[at(r)].kept);
      Builder builder = replicas_.at_update(t, r);
      builder.assign(builder.quotient(builder.read(x[at(r)].kept), weight),
                     replicas_.parameter(t, r));
    }
  }

  bool overlaps_;
  Replicas replicas_;
  std::vector<std::pair<std::size_t, OfReplicas>> pushed_;  ///< last the weights
  std::set<NodeId> leaving_;
};

Step gossip(const Step& step, const StrategyOptions& options) {
  return Gossip(step, options).rewritten();
}

}  // namespace

extern constinit const Strategy kGossip = {
    .name = "gossip",
    .term = "stochastic gradient push",
    .summary = "replicas train alone and push half of what they have to a peer",
    .colour = "#66BB22",
    .workers = WorkersAre::Replicas,
    .exchange = Exchange::Periodic,
    .processes = Processes::OfPlaces,
    .options = options<kOverlap>,
    .rewrite = gossip,
    .elsewhere = {{{"sgp"}}}};

}  // namespace regatta
