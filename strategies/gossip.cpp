// SPDX-License-Identifier: Apache-2.0
//
// gossip: every replica trains on its own and, after every step k, pushes half of its values to one
// peer: replica i to (i + 2^(k mod L)) mod n, L = ceil(log2 n). Its values are x, for each
// parameter, and w, one number that starts at 1; the half that it keeps and the half that arrives
// add up. z = x / w is the parameter with which it computes gradients; the optimizer moves x. After
// L steps without gradients every z is the mean of all replicas, exactly if n is a power of two. A
// replica sends M + 4 bytes per step, for M bytes of parameters and any n. A gradient is n times
// a replica's part of the global batch's gradient, so that the mean of all x moves as under a
// synchronous strategy if the optimizer is linear. If every half arrives in its step, each replica
// receives as many halves as it sends, and w stays 1. With an overlap of a step they travel in
// parallel with the next step and arrive after it: a third of everything is under way, and w, which
// approaches 2/3, measures this. Source: Assran et al. 2019, arXiv 1811.10792, algorithms 1 and 2;
// the peers: its section 4.
#include <bit>
#include <set>
#include <utility>

#include "kernels/graph/period.h"
#include "strategies/front.h"
#include "strategies/replicas.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

constexpr Option kOverlap = {
    .name = "overlap",
    .help = "steps beside which what is pushed travels; 0: it arrives in its step",
    .unit = "steps",
    .type = Count{.default_value = 0, .least = 0, .most = 1}};

/// A value of which one replica pushes half: x of a parameter, or w.
struct Pushed {
  VariableId kept = -1;  ///< holds the value from step to step
  VariableId sent = -1;  ///< with an overlap: the half that was pushed after the last step
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
  /// One value at all replicas, with the trainable that it is pushed with.
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

  /// Half of a variable's value, and the half that travels in this step.
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

  /// The optimizer moves x, which replaces the parameter during the update.
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

  /// Appends an exchange for each distance of a push, each in its turn.
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

  /// Saves the pushed halves, after all exchanges that read those of the last step.
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
  std::vector<std::pair<std::size_t, OfReplicas>> pushed_;  ///< the weights last
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

}  // namespace regatta::strategies
