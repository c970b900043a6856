// SPDX-License-Identifier: Apache-2.0
//
// Checks that a step is well formed. The check runs after a step is built and after every rewrite,
// in every build type.
#pragma once

#include <string>

#include "kernels/graph/graph.h"

namespace regatta {

/// Checks every rule below. If one is broken, aborts with the rule, the node, and `after`, the name
/// of the last action, such as a rewrite. Rules: inputs come from earlier nodes, which take part in
/// every step or have the same period; output types equal the inferred ones; variables exist and
/// are assigned at one place only unless shared; the losses are scalars made by loss ops; every
/// trainable has a gradient of its type and at least one update that assigns it; the members of a
/// collective are complete, are at different places and agree in op, size, algorithm, steps and
/// types.
void verify(const Step& step, const std::string& after);

/// Returns the first broken rule; empty if the step is well formed. For tests of the rules.
std::string broken_rule(const Step& step);

}  // namespace regatta
