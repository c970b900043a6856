// SPDX-License-Identifier: Apache-2.0
//
// quantized: gradients are sent as integers of 8 or 4 bits. It rewrites the gradient sums of the
// strategy before it, as in `all_reduce+quantized`. A worker packs its gradient, plus the error e_i
// that rounding has left out so far, in n parts of equal size, with an f32 scale for each block of
// 256 elements (quantization.h). Each worker completes one part: it adds up the parts of all
// workers in f32, in their order, and packs the sum, plus an error of its own, for all. All workers
// therefore unpack the same sum. Each sends 2 (n - 1) parts of a gradient: for M bytes of gradients
// 2 (n - 1) / n M (bits / 32 + 1 / 256), up to a scale and three bytes more for a part. Gathering
// all workers' packed gradients instead, as top_k does, would send n / 2 times as much. After
// sharded a worker applies its share of the sum; parameters are gathered in f32.
// Source: two-way compression with an error at both ends: Tang et al. 2019, arXiv 1905.05957
// (DoubleSqueeze); scales by block: Dettmers et al. 2022, arXiv 2110.02861.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/copier.h"
#include "kernels/graph/listed_types.h"
#include "kernels/graph/period.h"
#include "kernels/graph/quantization.h"
#include "strategies/gradient_sums.h"
#include "strategies/shares.h"
#include "strategies/strategy.h"

namespace regatta::strategies {
namespace {

constexpr Option kBits = {.name = "bits",
                          .help = "bits of a gradient's element in an exchange: 8 or 4",
                          .unit = "",
                          .type = Count{.default_value = 8, .least = 1, .most = 32}};

/// One gradient at all workers.
struct OneGradient {
  std::vector<GradientSum> sums;           ///< by member
  std::vector<std::vector<Value>> pushed;  ///< by part and member
  std::vector<Value> gathered;             ///< by member
};

class Quantized {
 public:
  Quantized(const Step& source, std::int64_t bits)
      : source_(source),
        bits_(bits),
        groups_(first_free_group(source.graph)),
        result_(source),
        copier_(source.graph),
        builder_(result_.graph) {
    result_.graph = Graph();
  }

  Step rewritten();

 private:
  const Node& node_of(const GradientSum& sum) const { return source_.graph.node(sum.node); }
  Builder& at(const GradientSum& sum) {
    const Node& node = node_of(sum);
    return builder_.at(node.place).in(Phase::Update).layer(node.layer).only(period_of(node));
  }
  QuantizedPart part_of(const OneGradient& exchange) const {
    return quantized_part(source_.graph.type({exchange.sums[0].node, 0}).elements(),
                          std::ssize(exchange.sums), bits_);
  }
  Value pack(const GradientSum& sum, Value value, std::int64_t parts, const char* error);
  void push(OneGradient& exchange);
  void gather(OneGradient& exchange);
  void unpack(const OneGradient& exchange);

  const Step& source_;
  std::int64_t bits_;
  std::int64_t groups_;
  Step result_;
  Copier copier_;
  Builder builder_;
};

/// Packs a value plus the error that packing it has left out so far.
Value Quantized::pack(const GradientSum& sum, Value value, std::int64_t parts, const char* error) {
  const VariableId left_out =
      result_.graph.add(slot_of(source_, sum, error, result_.graph.type(value)));
  Builder& builder = at(sum);
  const QuantizedValues made =
      builder.quantize(builder.add(value, builder.read(left_out)), bits_, parts);
  builder.assign(made.rest, left_out);
  return made.packed;
}

void Quantized::push(OneGradient& exchange) {
  const std::int64_t parts = std::ssize(exchange.sums), words = part_of(exchange).words();
  exchange.pushed.resize(exchange.sums.size());
  for (const GradientSum& sum : exchange.sums) {
    const Value gradient = copier_.value(node_of(sum).inputs[0]);
    const Value packed = pack(sum, gradient, parts, ".quantized_error");
    for (std::int64_t k = 0; k < parts; ++k) {
      exchange.pushed[static_cast<std::size_t>(k)].push_back(
          at(sum).slice(packed, k * words, words));
    }
  }
}

void Quantized::gather(OneGradient& exchange) {
  const QuantizedPart part = part_of(exchange);
  for (const GradientSum& sum : exchange.sums) {
    const std::int64_t members = std::ssize(exchange.sums);
    const auto own = static_cast<std::size_t>(share_at(node_of(sum).member, members));
    const Value added = at(sum).dequantize(exchange.pushed[own], bits_, 1, {part.elements});
    const Value packed = pack(sum, added, 1, ".quantized_sum_error");
    Attributes attributes{{"group", groups_ + node_of(sum).attributes.integer("group")},
                          {"members", members},
                          {"algorithm", std::string(kRing)}};
    const TensorType all{ElementType::F32, {members * part.words()}};
    list_types(attributes, {&all, 1});
    exchange.gathered.push_back(
        at(sum).node(Op::AllGather, {packed}, std::move(attributes), {}, node_of(sum).member));
  }
}

void Quantized::unpack(const OneGradient& exchange) {
  for (const GradientSum& sum : exchange.sums) {
    const Node& node = node_of(sum);
    const Value packed = exchange.gathered[static_cast<std::size_t>(node.member)];
    const Value made =
        at(sum).dequantize({packed}, bits_, std::ssize(exchange.sums), node.outputs[0].dims);
    copier_.map({sum.node, 0}, replacement_of(node, made, builder_));
  }
}

Step Quantized::rewritten() {
  const std::vector<GradientSum> sums = gradient_sums(source_, "quantized");
  std::map<std::int64_t, OneGradient> exchanges;  // by group
  for (const GradientSum& sum : sums) {
    const Attributes& attributes = node_of(sum).attributes;
    OneGradient& exchange = exchanges[attributes.integer("group")];
    exchange.sums.resize(static_cast<std::size_t>(attributes.integer("members")));
    exchange.sums[static_cast<std::size_t>(node_of(sum).member)] = sum;
  }
  copy_without(sums, source_.graph, copier_, result_.graph, [&] {
    for (auto& [group, exchange] : exchanges) push(exchange);
    for (auto& [group, exchange] : exchanges) gather(exchange);
    for (auto& [group, exchange] : exchanges) unpack(exchange);
  });
  copier_.rename(result_);
  return std::move(result_);
}

Step quantized(const Step& step, const StrategyOptions& options) {
  const std::int64_t bits = options.count(kBits);
  if (bits != 8 && bits != 4) {
    throw RunError(ErrorKind::Usage, "--bits is " + std::to_string(bits) + "; fix: give 8 or 4");
  }
  return Quantized(step, bits).rewritten();
}

}  // namespace

extern constinit const Strategy kQuantized = {
    .name = "quantized",
    .term = "quantised gradients with error feedback",
    .summary = "after all_reduce, sharded or diloco: gradients travel as 8 or 4 bits",
    .colour = "#994455",
    .workers = WorkersAre::ThoseOfPrevious,
    .exchange = Exchange::Compressed,
    .processes = Processes::OfWorkers,
    .options = options<kBits>,
    .rewrite = quantized,
    .elsewhere = {{{.name = "qsgd", .is = OtherName::Is::Near}}}};

}  // namespace regatta::strategies
