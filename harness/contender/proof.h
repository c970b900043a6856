// SPDX-License-Identifier: Apache-2.0
//
// The proof that another program computes the same as `single`: before its time counts, it
// returns digests of the weights and of the order that it read, the norm of its first gradient, its
// first losses, and the norm of all parameters behind these steps. They are held against the
// reference in a dump (dump.h). Digests are SHA-256 of bytes, in hexadecimal digits. Each bound is
// a multiple of the rounding that `single` has in this very cell.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace regatta::contender {

inline constexpr std::int64_t kProvenSteps = 20;  ///< fewer if the run has fewer

struct Proof {
  std::string weights;         ///< all first weights, in f32, in the manifest's order
  std::string order;           ///< the numbers of all steps' examples, in i64
  double gradient_norm = 0;    ///< norm of the mean gradient of step 0, before clipping
  std::vector<double> losses;  ///< of each proven step, before its update; none: a program whose
                               ///< steps are not `single`'s, such as a compressed exchange
  double parameter_norm = 0;   ///< norm of all parameters after these steps; 0 without losses
};

/// Greatest permitted differences, relative to the reference's values.
struct Bounds {
  double gradient_norm = 0;
  std::vector<double> losses;  ///< by step, because rounding grows
  double parameter_norm = 0;
};

struct Reference {
  Proof expected;
  Bounds bounds;
};

/// Relative differences from the reference.
struct ProofResult {
  std::string failure;  ///< names the first difference that counts, and its cause; empty: equal
  double gradient_difference = 0;
  double loss_difference = 0;  ///< that of the worst step; 0 without losses
  double parameter_difference = 0;
};

/// Reads a proof from one line of JSON with the names of Proof's fields; others are ignored.
/// `losses` and `parameter_norm` may be left out together. Throws: RunError(Data) if another one is
/// missing, or one has another type or is not finite.
Proof parse_proof(const std::string& json);

/// Reads `reference.json` of a dump. Throws: RunError(Data).
Reference read_reference(const std::filesystem::path& folder);

/// Returns the text of `reference.json`.
std::string to_text(const Reference& reference);

/// Holds a proof against the reference.
ProofResult compare(const Reference& reference, const Proof& proof);

}  // namespace regatta::contender
