// SPDX-License-Identifier: Apache-2.0
//
// Updates, computed in double and stored as f32; formulas and sources are at their options in
// kernels/graph/builder.h. Shared variables are assigned plainly, because the reference runs one
// node at a time; versions and staleness are counted as on other devices.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/base/random.h"
#include "kernels/graph/builder.h"
#include "kernels/graph/node_steps.h"
#include "kernels/runtime/kernel.h"
#include "kernels/runtime/schedule.h"
#include "kernels/runtime/step_moment.h"

namespace regatta::reference {
namespace {

/// Counts a finished update of every shared variable that a node assigns.
void count_versions(std::span<VariableStorage* const> variables) {
  for (VariableStorage* variable : variables) {
    if (variable->sharing != Sharing::None) ++variable->counts->version;
  }
}

/// Counts the updates of the parameter that a gradient update has missed since its read.
class Staleness {
 public:
  explicit Staleness(const KernelRequest& request)
      : parameter_(request.variables[0]),
        seen_(request.versions_seen.empty() ? nullptr : request.versions_seen[0]) {}

  void count(LaneCounters* counters) const {
    if (counters == nullptr || seen_ == nullptr || parameter_->sharing == Sharing::None) return;
    counters->count_update(*seen_, parameter_->counts->version + parameter_->counts->averages);
  }

 private:
  const VariableStorage* parameter_;
  const SeenVersion* seen_;
};

std::vector<VariableStorage*> assigned(const KernelRequest& request) {
  return {request.variables.begin(), request.variables.end()};
}

/// The number of an update, from 1. Loops that share a variable count their updates together.
std::int64_t number_of_update(const VariableStorage& parameter, const StepContext& context) {
  if (parameter.sharing == Sharing::None) return context.step + 1;
  return static_cast<std::int64_t>(parameter.counts->version) + 1;
}

/// Calls body(i, j) for i < rows, j < columns.
template <typename Body>
void for_each_pair(std::int64_t rows, std::int64_t columns, const Body& body) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) body(i, j);
  }
}

KernelPointer sgd(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const Tensor gradient = request.inputs[0];
  const Tensor parameter = request.variables[0]->tensor, velocity = request.variables[1]->tensor;
  const ScheduleFunction rate_at(attributes);
  const double momentum = attributes.real("momentum");
  const bool nesterov = attributes.integer("nesterov") != 0;
  const double decay = attributes.real("weight") * attributes.real("weight_decay");
  return make_kernel([=, staleness = Staleness(request),
                      variables = assigned(request)](const StepContext& context) {
    staleness.count(context.counters);
    const double rate = rate_at(context.examples);
    for (std::int64_t i = 0; i < gradient.elements(); ++i) {
      const double w = parameter.f32()[i];
      const double g = gradient.f32()[i] + decay * w;
      const double v = momentum * velocity.f32()[i] + g;
      velocity.f32()[i] = static_cast<float>(v);
      parameter.f32()[i] = static_cast<float>(w - rate * (nesterov ? g + momentum * v : v));
    }
    count_versions(variables);
  });
}

KernelPointer adam(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const Tensor gradient = request.inputs[0];
  const Tensor parameter = request.variables[0]->tensor;
  const Tensor first = request.variables[1]->tensor, second = request.variables[2]->tensor;
  const ScheduleFunction rate_at(attributes);
  const double beta1 = attributes.real("beta1"), beta2 = attributes.real("beta2");
  const double epsilon = attributes.real("epsilon"), weight = attributes.real("weight");
  const double decay = attributes.real("weight_decay");
  return make_kernel([=, staleness = Staleness(request),
                      variables = assigned(request)](const StepContext& context) {
    staleness.count(context.counters);
    const double rate = weight * rate_at(context.examples);
    const auto t = static_cast<double>(number_of_update(*variables.front(), context));
    for (std::int64_t i = 0; i < gradient.elements(); ++i) {
      const double g = gradient.f32()[i];
      const double m = beta1 * first.f32()[i] + (1 - beta1) * g;
      const double v = beta2 * second.f32()[i] + (1 - beta2) * g * g;
      const double unbiased_m = m / (1 - std::pow(beta1, t));
      const double unbiased_v = v / (1 - std::pow(beta2, t));
      first.f32()[i] = static_cast<float>(m);
      second.f32()[i] = static_cast<float>(v);
      parameter.f32()[i] =
          static_cast<float>((1 - rate * decay) * parameter.f32()[i] -
                             rate * unbiased_m / (std::sqrt(unbiased_v) + epsilon));
    }
    count_versions(variables);
  });
}

/// Brings the singular values of a matrix near 1 (builder.h, MuonOptions).
std::vector<double> orthogonalized(std::vector<double> x, std::int64_t rows, std::int64_t columns,
                                   std::int64_t iterations) {
  const std::int64_t side = std::min(rows, columns), length = std::max(rows, columns);
  const auto square = static_cast<std::size_t>(side * side);
  const auto at = [=](std::int64_t i, std::int64_t k) {  // X lies so that A = X Xᵀ
    return static_cast<std::size_t>(rows <= columns ? i * columns + k : k * columns + i);
  };
  double norm = 0;
  for (const double value : x) norm += value * value;
  for (double& value : x) value /= std::max(std::sqrt(norm), 1e-7);
  const auto [constant, linear, quadratic] = MuonOptions::kPolynomial;
  for (std::int64_t iteration = 0; iteration < iterations; ++iteration) {
    std::vector<double> a(square), p(square), next(x.size());
    const auto in = [=](std::int64_t i, std::int64_t j) {
      return static_cast<std::size_t>(i * side + j);
    };
    for_each_pair(side, side, [&](auto i, auto j) {
      for (std::int64_t k = 0; k < length; ++k) a[in(i, j)] += x[at(i, k)] * x[at(j, k)];
    });
    for_each_pair(side, side, [&](auto i, auto j) {
      p[in(i, j)] = (i == j ? constant : 0) + linear * a[in(i, j)];
      for (std::int64_t k = 0; k < side; ++k) {
        p[in(i, j)] += quadratic * a[in(i, k)] * a[in(k, j)];
      }
    });
    for_each_pair(side, length, [&](auto i, auto k) {
      for (std::int64_t j = 0; j < side; ++j) next[at(i, k)] += p[in(i, j)] * x[at(j, k)];
    });
    x = std::move(next);
  }
  return x;
}

KernelPointer muon(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const Tensor gradient = request.inputs[0];
  const Tensor parameter = request.variables[0]->tensor, momentum = request.variables[1]->tensor;
  const ScheduleFunction rate_at(attributes);
  const double keep = attributes.real("momentum"), weight = attributes.real("weight");
  const double decay = attributes.real("weight_decay"), scale = attributes.real("scale");
  const std::int64_t iterations = attributes.integer("iterations");
  const bool normalized = attributes.integer("normalized") != 0;
  const TensorType& matrices = request.outputs[0].type;
  const std::int64_t columns = matrices.columns();
  const std::int64_t rows = matrices.dims.end()[-2], elements = rows * columns;
  return make_kernel([=, staleness = Staleness(request),
                      variables = assigned(request)](const StepContext& context) {
    staleness.count(context.counters);
    const double rate = weight * rate_at(context.examples);
    for (std::int64_t first = 0; first < gradient.elements(); first += elements) {
      std::vector<double> direction;
      for (std::int64_t i = first; i < first + elements; ++i) {
        const double g = gradient.f32()[i];
        const double m = keep * momentum.f32()[i] + (1 - keep) * g;
        momentum.f32()[i] = static_cast<float>(m);
        direction.push_back((1 - keep) * g + keep * m);
      }
      direction = orthogonalized(direction, rows, columns, iterations);
      double square = 0;
      for (std::int64_t i = first; i < first + elements; ++i) {
        square += double{parameter.f32()[i]} * parameter.f32()[i];
      }
      const double keeps = normalized ? std::sqrt(static_cast<double>(rows) / square) : 1;
      for (std::int64_t i = first; i < first + elements; ++i) {
        const double step = scale * direction[static_cast<std::size_t>(i - first)];
        const double w = keeps * parameter.f32()[i];
        parameter.f32()[i] = static_cast<float>(w - rate * (decay * w + step));
      }
    }
    count_versions(variables);
  });
}

KernelPointer average(const KernelRequest& request) {
  const auto replica = static_cast<std::uint32_t>(request.node.attributes.integer("replica"));
  SeenVersion* seen = request.versions_seen.empty() ? nullptr : request.versions_seen[0];
  return make_kernel([=, variables = assigned(request)](const StepContext& context) {
    const auto peers = static_cast<std::uint32_t>(variables.size() - 1);
    VariableStorage& own = *variables[0];
    VariableStorage& other = *variables[1 + draw_peer(replica, context.step, peers)];
    float* const mine = own.tensor.f32();
    float* const theirs = other.tensor.f32();
    for (std::int64_t i = 0; i < own.tensor.elements(); ++i) {
      mine[i] = theirs[i] = static_cast<float>((double{mine[i]} + double{theirs[i]}) / 2);
    }
    ++own.counts->averages;
    ++other.counts->averages;
    if (seen != nullptr) ++seen->number;
  });
}

KernelPointer average_with(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  return make_kernel([=, variable = request.variables[0]](const StepContext&) {
    float* const own = variable->tensor.f32();
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      y.f32()[i] = own[i] = static_cast<float>((double{own[i]} + double{x.f32()[i]}) / 2);
    }
    ++variable->counts->averages;
  });
}

KernelPointer lookahead(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const Tensor parameter = request.variables[0]->tensor, slow = request.variables[1]->tensor;
  const ScheduleFunction decay_at(attributes);
  const NodeSteps steps = node_steps(request.node);
  return make_kernel([=, variables = assigned(request)](const StepContext& context) {
    const StepMoment moment = step_moment_of(context);
    const bool moves = steps.is_in_period(moment);  // or it is the run's last step
    const double decay = moves ? decay_at(steps.seen_after(moment)) : 1.0;
    for (std::int64_t i = 0; i < parameter.elements(); ++i) {
      const double s = slow.f32()[i];
      slow.f32()[i] = static_cast<float>(s + (1 - decay) * (parameter.f32()[i] - s));
      parameter.f32()[i] = slow.f32()[i];
    }
    count_versions(variables);
  });
}

}  // namespace

KernelRows update_kernels() {
  return {{Op::Sgd, sgd},
          {Op::Adam, adam},
          {Op::Muon, muon},
          {Op::Average, average},
          {Op::AverageWith, average_with},
          {Op::Lookahead, lookahead}};
}

}  // namespace regatta::reference
