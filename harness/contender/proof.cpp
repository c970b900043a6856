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

Proof proof_of(const Json& json) {
  Proof proof{.weights = json.at("weights"),
              .order = json.at("order"),
              .gradient_norm = json.at("gradient_norm")};
  if (!json.contains("losses") && !json.contains("parameter_norm")) return proof;
  proof.losses = json.at("losses").get<std::vector<double>>();
  proof.parameter_norm = json.at("parameter_norm");
  return proof;
}

/// Calls `read` with the parsed text. Its errors name `subject`.
template <typename Read>
auto parsed(const std::string& text, const std::string& subject, Read read) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception& error) {
    throw RunError(
        ErrorKind::Data,
        subject + " has weights, order, gradient_norm, losses and parameter_norm: " + error.what());
  }
}

double difference(double found, double expected) {
  return std::abs(found - expected) / std::max(std::abs(expected), 1e-30);
}

std::string differs(const std::string& what, double found, double expected, double bound) {
  return fmt::format("{} is {:.9g}, not {:.9g} (difference {:.1e}, bound {:.1e})", what, found,
                     expected, difference(found, expected), bound);
}

/// Names the factor of a gradient that is a sum where a mean belongs, or the other way round.
std::string factor_of(double found, double expected) {
  constexpr double kNear = 0.02;
  const double factor = std::max(found / expected, expected / found);
  const double whole = std::round(factor);
  if (!(whole >= 2) || std::abs(factor / whole - 1) > kNear) return "";
  return fmt::format(
      "; it is {}{:.0f} times as large: the gradient is the mean over the global "
      "batch",
      found > expected ? "" : "1/", whole);
}

}  // namespace

Proof parse_proof(const std::string& json) { return parsed(json, "a proof", proof_of); }

Reference read_reference(const std::filesystem::path& folder) {
  constexpr std::uintmax_t kMost = 1 << 20;  // bytes
  const std::filesystem::path file = folder / "reference.json";
  return parsed(system::text_of(file, kMost), file.string(), [](const Json& json) {
    const Json& bounds = json.at("bounds");
    return Reference{.expected = proof_of(json),
                     .bounds = {.gradient_norm = bounds.at("gradient_norm"),
                                .losses = bounds.at("losses"),
                                .parameter_norm = bounds.at("parameter_norm")}};
  });
}

std::string to_text(const Reference& reference) {
  const auto& [proof, bounds] = reference;
  const Json norms = {{"gradient_norm", bounds.gradient_norm},
                      {"losses", bounds.losses},
                      {"parameter_norm", bounds.parameter_norm}};
  return Json({{"weights", proof.weights},
               {"order", proof.order},
               {"gradient_norm", proof.gradient_norm},
               {"losses", proof.losses},
               {"parameter_norm", proof.parameter_norm},
               {"bounds", norms}})
      .dump(1);
}

ProofResult compare(const Reference& reference, const Proof& proof) {
  const auto& [expected, bounds] = reference;
  const std::size_t steps = std::min(proof.losses.size(), expected.losses.size());
  ProofResult result{.gradient_difference =
                         difference(proof.gradient_norm, expected.gradient_norm)};
  if (steps > 0)
    result.parameter_difference = difference(proof.parameter_norm, expected.parameter_norm);
  std::size_t beyond = steps;  // the first step whose loss is
  for (std::size_t k = steps; k-- > 0;) {
    const double found = difference(proof.losses[k], expected.losses[k]);
    if (!(found <= bounds.losses.at(k))) beyond = k;
    result.loss_difference = std::max(result.loss_difference, found);
  }
  const auto loss_differs = [&] {
    return differs(fmt::format("the loss of step {}", beyond), proof.losses[beyond],
                   expected.losses[beyond], bounds.losses[beyond]);
  };
  if (proof.weights != expected.weights) {
    result.failure = fmt::format("the first weights are others: their SHA-256 is {}, not {}",
                                 proof.weights, expected.weights);
  } else if (proof.order != expected.order) {
    result.failure = fmt::format("the order of examples is another: its SHA-256 is {}, not {}",
                                 proof.order, expected.order);
  } else if (!proof.losses.empty() && proof.losses.size() != expected.losses.size()) {
    result.failure = fmt::format("the proof has the losses of {} steps, not of {}",
                                 proof.losses.size(), expected.losses.size());
  } else if (steps > 0 && beyond == 0) {
    result.failure = loss_differs() +
                     "; the model, its loss, the group of its statistics, or the examples differ";
  } else if (!(result.gradient_difference <= bounds.gradient_norm)) {
    result.failure = differs("the norm of the first gradient", proof.gradient_norm,
                             expected.gradient_norm, bounds.gradient_norm) +
                     factor_of(proof.gradient_norm, expected.gradient_norm);
  } else if (beyond < steps) {
    result.failure = loss_differs() +
                     "; the first step agrees, so its update differs (optimizer, rate, weight "
                     "decay, clipping), or later examples do";
  } else if (!(result.parameter_difference <= bounds.parameter_norm)) {
    result.failure = differs(fmt::format("the norm of all parameters behind step {}", steps - 1),
                             proof.parameter_norm, expected.parameter_norm, bounds.parameter_norm) +
                     "; losses agree, so weight decay or rates differ";
  }
  return result;
}

}  // namespace regatta::contender
