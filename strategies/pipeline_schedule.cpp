// SPDX-License-Identifier: Apache-2.0
#include "strategies/pipeline_schedule.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/base/error.h"

namespace regatta::strategies {
namespace {

using PassesByStage = std::vector<std::vector<Pass>>;

std::size_t stage_index(std::int64_t stage) { return static_cast<std::size_t>(stage); }

/// The completed passes, each with the time of its end.
class Done {
 public:
  explicit Done(const PipelineShape& shape) : shape_(shape) {}

  void set(const Pass& pass, double when) { when_[key(pass)] = when; }

  /// The latest end of the passes that this one needs; empty if one is missing.
  std::optional<double> ready(const Pass& pass) const {
    std::optional<double> when = 0;
    const auto need = [&](PassKind kind, std::int64_t chunk) {
      if (chunk < 0 || chunk >= shape_.all_chunks()) return;
      const auto found = find({.kind = kind, .chunk = chunk, .microbatch = pass.microbatch});
      when = when && found ? std::optional(std::max(*when, *found)) : std::nullopt;
    };
    switch (pass.kind) {
      case PassKind::Forward: need(PassKind::Forward, pass.chunk - 1); break;
      case PassKind::Backward:
      case PassKind::InputGradients:
        need(PassKind::Forward, pass.chunk);
        need(PassKind::InputGradients, pass.chunk + 1);
        break;
      case PassKind::WeightGradients: need(PassKind::InputGradients, pass.chunk); break;
    }
    return when;
  }

 private:
  using Key = std::tuple<PassKind, std::int64_t, std::int64_t>;
  /// A whole backward pass includes the gradients of inputs.
  static Key key(const Pass& pass) {
    const bool backward = pass.kind == PassKind::Backward;
    return {backward ? PassKind::InputGradients : pass.kind, pass.chunk, pass.microbatch};
  }
  std::optional<double> find(const Pass& pass) const {
    const auto found = when_.find(key(pass));
    return found == when_.end() ? std::nullopt : std::optional(found->second);
  }

  PipelineShape shape_;
  std::map<Key, double> when_;
};

PassesByStage gpipe(const PipelineShape& shape) {
  PassesByStage all(stage_index(shape.stages));
  for (std::int64_t s = 0; s < shape.stages; ++s) {
    for (const PassKind kind : {PassKind::Forward, PassKind::Backward}) {
      for (std::int64_t k = 0; k < shape.microbatches; ++k) {
        all[stage_index(s)].push_back({.kind = kind, .chunk = s, .microbatch = k});
      }
    }
  }
  return all;
}

/// Alternates forward and backward passes after `warm_up` forward ones.
std::vector<Pass> alternating(std::int64_t passes, std::int64_t warm_up,
                              const std::function<Pass(std::int64_t)>& forward,
                              const std::function<Pass(std::int64_t)>& backward) {
  std::vector<Pass> order;
  for (std::int64_t i = 0; i < warm_up; ++i) order.push_back(forward(i));
  for (std::int64_t i = 0; i < passes; ++i) {
    if (warm_up + i < passes) order.push_back(forward(warm_up + i));
    order.push_back(backward(i));
  }
  return order;
}

PassesByStage one_forward_one_backward(const PipelineShape& shape) {
  PassesByStage all;
  for (std::int64_t s = 0; s < shape.stages; ++s) {
    const auto pass = [s](PassKind kind) {
      return [=](std::int64_t k) { return Pass{.kind = kind, .chunk = s, .microbatch = k}; };
    };
    const std::int64_t warm_up = std::min(shape.stages - s - 1, shape.microbatches);
    all.push_back(alternating(shape.microbatches, warm_up, pass(PassKind::Forward),
                              pass(PassKind::Backward)));
  }
  return all;
}

/// Microbatches pass through the chunks of a stage in groups of p.
PassesByStage interleaved(const PipelineShape& shape) {
  const std::int64_t p = shape.stages, v = shape.chunks, m = shape.microbatches;
  check(m % p == 0, "an interleaved schedule has a multiple of p microbatches");
  PassesByStage all;
  for (std::int64_t s = 0; s < p; ++s) {
    const auto pass = [=](PassKind kind, std::int64_t i) {
      const std::int64_t turn = i % (p * v) / p;
      const std::int64_t chunk = kind == PassKind::Forward ? turn : v - 1 - turn;
      return Pass{.kind = kind, .chunk = chunk * p + s, .microbatch = i / (p * v) * p + i % p};
    };
    const std::int64_t warm_up = std::min(2 * (p - s - 1) + (v - 1) * p, m * v);
    all.push_back(alternating(
        m * v, warm_up, [&](std::int64_t i) { return pass(PassKind::Forward, i); },
        [&](std::int64_t i) { return pass(PassKind::Backward, i); }));
  }
  return all;
}

/// 1f1b with delayed gradients of weights: stage s computes those of a microbatch s microbatches
/// after the gradients of its inputs.
PassesByStage zero_bubble(const PipelineShape& shape) {
  PassesByStage all = one_forward_one_backward(shape);
  for (std::int64_t s = 0; s < shape.stages; ++s) {
    std::vector<Pass>& order = all[stage_index(s)];
    std::vector<Pass> split;
    std::int64_t weights = 0;
    const auto take_weights = [&] {
      split.push_back({.kind = PassKind::WeightGradients, .chunk = s, .microbatch = weights++});
    };
    for (Pass pass : order) {
      if (pass.kind == PassKind::Backward) pass.kind = PassKind::InputGradients;
      split.push_back(pass);
      if (pass.kind == PassKind::InputGradients && pass.microbatch >= s) take_weights();
    }
    while (weights < shape.microbatches) take_weights();
    order = std::move(split);
  }
  return all;
}

}  // namespace

std::vector<std::vector<Pass>> pipeline_schedule(std::string_view name,
                                                 const PipelineShape& shape) {
  check(name == kInterleaved || shape.chunks == 1, "only interleaved has several chunks a stage");
  if (name == kGpipe) return gpipe(shape);
  if (name == k1f1b) return one_forward_one_backward(shape);
  if (name == kInterleaved) return interleaved(shape);
  check(name == kZeroBubble, "schedule " + std::string(name));
  return zero_bubble(shape);
}

std::vector<Pass> in_one_order(const std::vector<std::vector<Pass>>& schedule,
                               const PipelineShape& shape) {
  std::vector<Pass> order;
  std::vector<std::size_t> next(schedule.size());
  Done done(shape);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t s = 0; s < schedule.size(); ++s) {
      if (next[s] == schedule[s].size() || !done.ready(schedule[s][next[s]])) continue;
      order.push_back(schedule[s][next[s]++]);
      done.set(order.back(), 0);
      moved = true;
    }
  }
  for (std::size_t s = 0; s < schedule.size(); ++s) {
    check(next[s] == schedule[s].size(), "a schedule that waits for itself");
  }
  return order;
}

double makespan(const std::vector<std::vector<Pass>>& schedule, const PipelineShape& shape,
                const PassTimes& times) {
  std::vector<double> free_at(schedule.size());
  Done done(shape);
  double end = 0;
  const auto share = static_cast<double>(shape.chunks);
  for (const Pass& pass : in_one_order(schedule, shape)) {
    double time = 0;
    switch (pass.kind) {
      case PassKind::Forward: time = times.forward; break;
      case PassKind::Backward: time = times.input_gradients + times.weight_gradients; break;
      case PassKind::InputGradients: time = times.input_gradients; break;
      case PassKind::WeightGradients: time = times.weight_gradients; break;
    }
    double& free = free_at[stage_index(pass.chunk % shape.stages)];
    free = std::max(free, *done.ready(pass)) + time / share;
    done.set(pass, free);
    end = std::max(end, free);
  }
  return end;
}

}  // namespace regatta::strategies
