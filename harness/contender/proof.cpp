// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/proof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/system/input_file.h"
#include "kernels/base/error.h"

namespace regatta::contender {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uintmax_t kMostReference = 1 << 20;  // bytes
constexpr double kNearInteger = 0.02;  // a gradient's norm is a sum over workers, within 2 %

[[noreturn]] void refuse(const std::string& why) { throw RunError(ErrorKind::Data, why); }

double number(const Json& value, const std::string& name) {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    refuse("a proof's " + name + " is a finite number");
  return value.get<double>();
}

std::vector<double> numbers(const Json& value, const std::string& name) {
  if (!value.is_array()) refuse("a proof's " + name + " are a list of numbers");
  std::vector<double> all;
  for (const Json& each : value) all.push_back(number(each, name));
  return all;
}

std::string text(const Json& value, const std::string& name) {
  if (!value.is_string()) refuse("a proof's " + name + " is a SHA-256 in hexadecimal digits");
  return value.get<std::string>();
}

const Json& member(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end())
    refuse(std::string("a proof has `") + name +
           "`; fix: send weights, order, gradient_norm, losses and parameter_norm");
  return *found;
}

Proof proof_of(const Json& object) {
  return {.weights = text(member(object, "weights"), "weights"),
          .order = text(member(object, "order"), "order"),
          .gradient_norm = number(member(object, "gradient_norm"), "gradient_norm"),
          .losses = numbers(member(object, "losses"), "losses"),
          .parameter_norm = number(member(object, "parameter_norm"), "parameter_norm")};
}

Json parsed(const std::string& text, const std::string& name) {
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) refuse(name + " is not JSON");
  return json;
}

double difference(double found, double expected) {
  return std::abs(found - expected) / std::max(std::abs(expected), 1e-30);
}

/// The factor of a gradient that is summed where a mean belongs, or the other way round.
std::string factor_of(double found, double expected) {
  for (const bool larger : {true, false}) {
    const double factor = larger ? found / expected : expected / found;
    const double nearest = std::round(factor);
    if (nearest < 2 || std::abs(factor / nearest - 1) > kNearInteger) continue;
    return fmt::format(": it is {} {:.0f}; fix: the gradient is the mean over the global batch",
                       larger ? "multiplied by" : "divided by", nearest);
  }
  return "";
}

}  // namespace

Proof parse_proof(const std::string& json) { return proof_of(parsed(json, "a proof")); }

Reference read_reference(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "reference.json";
  const Json json = parsed(system::text_of(file, kMostReference), file.string());
  const Json& bounds = member(json, "bounds");
  Reference reference{
      .expected = proof_of(json),
      .bounds = {.gradient_norm = number(member(bounds, "gradient_norm"), "gradient_norm"),
                 .losses = numbers(member(bounds, "losses"), "losses"),
                 .parameter_norm = number(member(bounds, "parameter_norm"), "parameter_norm")}};
  if (reference.bounds.losses.size() != reference.expected.losses.size())
    refuse(file.string() + " has not as many bounds as losses");
  return reference;
}

ProofResult compare(const Reference& reference, const Proof& proof) {
  const Proof& expected = reference.expected;
  const Bounds& bounds = reference.bounds;
  ProofResult result{
      .failure = {},
      .gradient_difference = difference(proof.gradient_norm, expected.gradient_norm),
      .parameter_difference = difference(proof.parameter_norm, expected.parameter_norm)};
  const std::size_t steps = std::min(proof.losses.size(), expected.losses.size());
  std::size_t beyond = steps;
  for (std::size_t k = 0; k < steps; ++k) {
    const double found = difference(proof.losses[k], expected.losses[k]);
    if (beyond == steps && !(found <= bounds.losses[k])) beyond = k;
    if (found <= result.loss_difference) continue;
    result.loss_difference = found;
    result.loss_step = static_cast<std::int64_t>(k);
  }
  if (beyond < steps) result.loss_step = static_cast<std::int64_t>(beyond);
  if (proof.weights != expected.weights) {
    result.failure = "the first weights are others: their SHA-256 is " + proof.weights + ", not " +
                     expected.weights;
  } else if (proof.order != expected.order) {
    result.failure = "the order of examples is another: its SHA-256 is " + proof.order + ", not " +
                     expected.order;
  } else if (proof.losses.size() != expected.losses.size()) {
    result.failure = fmt::format("a proof has the losses of {} steps, not of {}",
                                 expected.losses.size(), proof.losses.size());
  } else if (!(result.gradient_difference <= bounds.gradient_norm)) {
    result.failure = fmt::format(
        "the first gradient's norm is {:.7g}, not {:.7g} (difference {:.1e}, bound {:.1e}){}",
        proof.gradient_norm, expected.gradient_norm, result.gradient_difference,
        bounds.gradient_norm, factor_of(proof.gradient_norm, expected.gradient_norm));
  } else if (beyond < steps) {
    result.failure = fmt::format(
        "the loss of step {} is {:.7g}, not {:.7g} (difference {:.1e}, bound {:.1e})", beyond,
        proof.losses[beyond], expected.losses[beyond],
        difference(proof.losses[beyond], expected.losses[beyond]), bounds.losses[beyond]);
  } else if (!(result.parameter_difference <= bounds.parameter_norm)) {
    result.failure = fmt::format(
        "the norm of all parameters after {} steps is {:.9g}, not {:.9g} (difference {:.1e}, bound "
        "{:.1e}), and losses agree; fix: weight decay or rates",
        steps, proof.parameter_norm, expected.parameter_norm, result.parameter_difference,
        bounds.parameter_norm);
  }
  return result;
}

}  // namespace regatta::contender
