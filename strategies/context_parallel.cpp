// SPDX-License-Identifier: Apache-2.0
//
// context_parallel: c shards compute on the same sequences. Each has all parameters and a share of
// each sequence's tokens; only attention needs the tokens of others. With ring, keys and values
// pass through all shards, and a shard computes the attention of its queries block by block. It
// sends c - 1 blocks of keys and values forward and, backward, as many again and their gradients in
// f32. Each block is sent while the previous one is used. Shard i has chunks i and 2 c - 1 - i of 2
// c, so that all shards see equally many keys. With ulysses, shards exchange tokens for heads
// before attention and back after it, so that each has all tokens of some heads. Shards then sum
// the gradients. The first shard reads the batch and sends the others their tokens. Term: context
// parallelism.
// Source: Liu et al., arXiv:2310.01889; chunks: zhuzilin/ring-flash-attention; Jacobs et al.,
// arXiv:2309.14509.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "strategies/shards.h"
#include "strategies/shared_options.h"
#include "strategies/strategy.h"
#include "strategies/tokens.h"

namespace regatta::strategies {
namespace {

constexpr std::string_view kUlysses = "ulysses";
constexpr std::array kExchanges = {kRing, kUlysses};
constexpr Option kContextExchange = {
    .name = "context_exchange",
    .help =
        "how attention reaches the tokens of other shards: ring (keys and values pass through all "
        "shards), or ulysses (heads are exchanged for tokens, for shards that divide the heads)",
    .unit = "",
    .type = Choice{.default_value = kRing, .words = kExchanges}};

/// Rewrites one step.
class ContextParallel {
 public:
  ContextParallel(const Step& step, const StrategyOptions& options, ShardDivision division)
      : is_ring_(options.choice(kContextExchange) == kRing),
        step_(step, options.shards, std::move(division), options.choice(kAlgorithm)) {}

  Step run() {
    return step_.run([this](NodeId id) { return replace(id); });
  }

 private:
  static std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }
  std::int64_t count() const { return step_.shards(); }
  const Node& node(NodeId id) const { return step_.source().node(id); }
  Value at_shard(Value value, std::int64_t shard) { return step_.copier(shard).value(value); }
  const TensorType& type(Value value) { return step_.graph().type(value); }

  /// Numbers of the shard's chunks: two of twice as many as shards, or one.
  std::vector<std::int64_t> chunks(std::int64_t shard) const {
    if (!is_ring_) return {shard};
    return {shard, 2 * count() - 1 - shard};
  }
  /// Takes the shard's tokens from a dimension that has those of whole sequences.
  Value take_tokens(Builder builder, Value whole, std::int64_t axis, std::int64_t shard) {
    const std::int64_t length = type(whole).dims[at(axis)] / ((is_ring_ ? 2 : 1) * count());
    return builder.take(whole, axis, first_tokens(shard, length), length);
  }
  std::vector<std::int64_t> first_tokens(std::int64_t shard, std::int64_t length) const {
    std::vector<std::int64_t> begins = chunks(shard);
    for (std::int64_t& each : begins) each *= length;
    return begins;
  }

  bool replace(NodeId id) {
    switch (node(id).phase == Phase::Input ? Op::Input : node(id).op) {
      case Op::Input: deal(id); return true;
      case Op::Rotary: rotate(id); return true;
      case Op::Positions: add_positions(id); return true;
      case Op::PositionsBackward: sum_positions(id); return true;
      case Op::Attention: is_ring_ ? attend_in_ring(id) : attend_by_heads(id); return true;
      case Op::AttentionBackward:
        is_ring_ ? attend_in_ring_backward(id) : attend_by_heads_backward(id);
        return true;
      default: return false;
    }
  }

  /// The first shard has all tokens, and sends the others theirs.
  void deal(NodeId id) {
    const NodeId whole = step_.copy(id, 0);
    for (int i = 0; i < std::ssize(node(id).outputs); ++i) {
      for (std::int64_t s = 0; s < count(); ++s) {
        step_.copier(s).map({id, i}, is_read_by_input({id, i})
                                         ? Value{whole, i}
                                         : take_tokens(step_.builder(id, 0), {whole, i}, 1, s));
      }
    }
  }

  bool is_read_by_input(Value value) const {
    const std::vector<Node>& nodes = step_.source().nodes();
    return std::any_of(nodes.begin(), nodes.end(), [&](const Node& each) {
      return each.phase == Phase::Input &&
             std::count(each.inputs.begin(), each.inputs.end(), value) > 0;
    });
  }

  void rotate(NodeId id) {
    for (std::int64_t s = 0; s < count(); ++s) {
      Attributes attributes = node(id).attributes;
      attributes.set("chunks", chunks(s));
      step_.copier(s).map({id, 0},
                          step_.builder(id, s).node(Op::Rotary, {at_shard(node(id).inputs[0], s)},
                                                    std::move(attributes)));
    }
  }

  void add_positions(NodeId id) {
    for (std::int64_t s = 0; s < count(); ++s) {
      const Value rows = at_shard(node(id).inputs[1], s);
      step_.copier(s).map(
          {id, 0}, step_.builder(id, s).positions(at_shard(node(id).inputs[0], s),
                                                  take_tokens(step_.builder(id, s), rows, 0, s)));
    }
  }

  void sum_positions(NodeId id) {
    const std::int64_t tokens = node(id).outputs[0].dim(0);
    std::vector<Value> terms;
    for (std::int64_t s = 0; s < count(); ++s) {
      const Value own{step_.copy(id, s), 0};
      const std::int64_t length = type(own).dim(0) / std::ssize(chunks(s));
      terms.push_back(step_.builder(id, s).put({own}, 0, first_tokens(s, length), tokens));
    }
    if (step_.division().of({id, 0}) == Portion::Term) terms = step_.all_reduce({id, 0}, terms);
    step_.map({id, 0}, terms);
  }

  AttentionBlock block(NodeId id, std::int64_t shard, std::int64_t owner) const {
    return {.heads = node(id).attributes.integer("heads"),
            .queries = chunks(shard),
            .keys = chunks(owner)};
  }
  /// Each shard's keys and values: the second and third part of x [B, S, 3 C].
  std::vector<Value> keys_and_values(NodeId id, Value x) {
    std::vector<Value> own;
    for (std::int64_t s = 0; s < count(); ++s) {
      const std::int64_t channels = type(at_shard(x, s)).dim(2) / 3;
      own.push_back(step_.builder(id, s).take(at_shard(x, s), 2, {channels}, 2 * channels));
    }
    return own;
  }
  /// Moves each shard's value to the next shard, which can then send it on.
  std::vector<Value> pass_on(NodeId id, const std::vector<Value>& values) {
    std::vector<Value> moved;
    for (std::int64_t s = 0; s < count(); ++s) {
      const Value from = values[at(before(s))];
      moved.push_back(step_.builder(id, s).reshape(from, {type(from).dim(1), type(from).dim(2)}));
    }
    return moved;
  }
  std::int64_t before(std::int64_t shard) const { return (shard + count() - 1) % count(); }

  void attend_in_ring(NodeId id) {
    const Value x = node(id).inputs[0];
    std::vector<Value> kv = keys_and_values(id, x), y, l;
    std::vector<AttentionValues> sums(at(count()));
    for (std::int64_t step = 0; step < count(); ++step) {
      if (step > 0) kv = pass_on(id, kv);
      for (std::int64_t s = 0; s < count(); ++s) {
        const std::int64_t owner = (s + count() - step) % count();
        sums[at(s)] = step_.builder(id, s).attend(at_shard(x, s), kv[at(s)], sums[at(s)],
                                                  block(id, s, owner));
      }
    }
    for (std::int64_t s = 0; s < count(); ++s) {
      y.push_back(as_in_source(id, sums[at(s)].y, s));
      l.push_back(sums[at(s)].l);
    }
    step_.map({id, 0}, y);
    step_.map({id, 1}, l);
  }

  /// Casts f32 to the element type of the source's node.
  Value as_in_source(NodeId id, Value value, std::int64_t shard) {
    const ElementType element = node(id).outputs[0].element;
    return type(value).element == element ? value : step_.builder(id, shard).cast(value, element);
  }

  /// Gradients of keys and values follow their block, one shard behind, to its owner, which adds
  /// its own term.
  void attend_in_ring_backward(NodeId id) {
    const auto inputs = node(id).inputs;  // dy, x, y, l
    std::vector<Value> kv = keys_and_values(id, inputs[1]), dq(at(count())), dx;
    std::vector<Value> own, passing;
    for (std::int64_t step = 0; step < count(); ++step) {
      if (step > 0) kv = pass_on(id, kv);
      std::vector<Value> dkv;
      for (std::int64_t s = 0; s < count(); ++s) {
        Builder builder = step_.builder(id, s);
        const AttentionGradients terms =
            builder.attend_backward(at_shard(inputs[0], s), at_shard(inputs[1], s), kv[at(s)],
                                    {.y = at_shard(inputs[2], s), .l = at_shard(inputs[3], s)},
                                    block(id, s, (s + count() - step) % count()));
        dq[at(s)] = step == 0 ? terms.dq : builder.sum({dq[at(s)], terms.dq});
        dkv.push_back(step < 2 ? terms.dkv : builder.sum({terms.dkv, passing[at(before(s))]}));
      }
      (step == 0 ? own : passing) = std::move(dkv);
    }
    for (std::int64_t s = 0; s < count(); ++s) {
      Builder builder = step_.builder(id, s);
      const Value sum = builder.sum({own[at(s)], passing[at(before(s))]});
      const std::int64_t channels = type(dq[at(s)]).dim(2);
      dx.push_back(
          as_in_source(id, builder.put({dq[at(s)], sum}, 2, {0, channels}, 3 * channels), s));
    }
    step_.map({id, 0}, dx);
  }

  /// Divides each shard's value along `cut`, and joins the parts that a shard receives along
  /// `join`.
  std::vector<Value> exchange(NodeId id, const std::vector<Value>& values, std::int64_t cut,
                              std::int64_t join) {
    const std::int64_t part = type(values[0]).dims[at(cut)] / count();
    const std::int64_t piece = type(values[0]).dims[at(join)];
    std::vector<std::vector<Value>> received(at(count()));
    std::vector<std::int64_t> begins;
    for (std::int64_t s = 0; s < count(); ++s) {
      begins.push_back(s * piece);
      for (std::int64_t to = 0; to < count(); ++to) {
        received[at(to)].push_back(
            step_.builder(id, s).take(values[at(s)], cut, {to * part}, part));
      }
    }
    std::vector<Value> joined;
    for (std::int64_t s = 0; s < count(); ++s) {
      joined.push_back(step_.builder(id, s).put(received[at(s)], join, begins, count() * piece));
    }
    return joined;
  }

  /// Views each x [B, S, 3 C] as [B, S, 3, C], or back.
  std::vector<Value> as_parts(NodeId id, std::vector<Value> values) {
    for (std::int64_t s = 0; s < count(); ++s) {
      const TensorType& x = type(values[at(s)]);
      using Dims = std::vector<std::int64_t>;
      const Dims dims =
          x.rank() == 3 ? Dims{x.dim(1), 3, x.dim(2) / 3} : Dims{x.dim(1), 3 * x.dim(3)};
      values[at(s)] = step_.builder(id, s).reshape(values[at(s)], dims);
    }
    return values;
  }
  std::vector<Value> at_shards(Value source) {
    std::vector<Value> values;
    for (std::int64_t s = 0; s < count(); ++s) values.push_back(at_shard(source, s));
    return values;
  }

  /// All tokens of a shard's heads.
  struct OfHeads {
    std::vector<Value> x, y, l;
  };

  void attend_by_heads(NodeId id) {
    OfHeads& own = of_heads_[id];
    own.x = as_parts(id, exchange(id, as_parts(id, at_shards(node(id).inputs[0])), 3, 1));
    for (std::int64_t s = 0; s < count(); ++s) {
      own.y.push_back(step_.builder(id, s).attention(own.x[at(s)], heads_of(id)));
      own.l.push_back({own.y.back().node, 1});
    }
    step_.map({id, 0}, exchange(id, own.y, 1, 2));
    step_.map({id, 1}, own.l);
  }

  std::int64_t heads_of(NodeId id) const { return node(id).attributes.integer("heads") / count(); }

  void attend_by_heads_backward(NodeId id) {
    const OfHeads& own = of_heads_.at(node(id).inputs[2].node);
    const std::vector<Value> dy = exchange(id, at_shards(node(id).inputs[0]), 2, 1);
    std::vector<Value> dx;
    for (std::int64_t s = 0; s < count(); ++s) {
      dx.push_back(step_.builder(id, s).node(Op::AttentionBackward,
                                             {dy[at(s)], own.x[at(s)], own.y[at(s)], own.l[at(s)]},
                                             {{"heads", heads_of(id)}}));
    }
    step_.map({id, 0}, as_parts(id, exchange(id, as_parts(id, dx), 1, 3)));
  }

  bool is_ring_;
  ShardedStep step_;
  std::map<NodeId, OfHeads> of_heads_;  ///< by attention node of the source
};

Step context_parallel(const Step& step, const StrategyOptions& options) {
  const std::string what =
      "strategy 'context_parallel' with " + std::to_string(options.shards) + " shards";
  require_divisible(step, options.shards, what);
  const bool is_ring = options.choice(kContextExchange) == kRing;
  require_equal_shares(
      step.graph, options.shards,
      {.chunks = is_ring ? 2 : 1,
       .divide = is_ring ? EqualShares::Divide::Tokens : EqualShares::Divide::TokensAndHeads},
      what + " and --context-exchange " + options.choice(kContextExchange));
  return ContextParallel(step, options, divide_tokens(step, what)).run();
}

}  // namespace

extern constinit const Strategy kContextParallel = {
    .name = "context_parallel",
    .term = "context parallelism",
    .summary = "the tokens of sequences divided among shards, which exchange keys and values",
    .colour = "#661100",
    .workers = WorkersAre::Shards,
    .exchange = Exchange::Synchronous,
    .processes = Processes::OfPlaces,
    .options = options<kAlgorithm, kBucketBytes, kShardCount, kStagesPerProcess, kContextExchange>,
    .rewrite = context_parallel,
    .elsewhere = {{{"ring_attention"}, {"ulysses", "--context-exchange ulysses"}}},
    .trains = Trains::Sequences,
    .builds = Builds::EveryShard};

}  // namespace regatta::strategies
