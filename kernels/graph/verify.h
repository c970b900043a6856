// SPDX-License-Identifier: Apache-2.0
//
// Checks that a step is well formed. Runs after building and after every rewrite, in every build
// type.
#pragma once

#include <string>

#include "kernels/graph/graph.h"

namespace regatta {

/// Checks every rule below and aborts with the first broken one, the node, and `after` (the last
/// action, such as a rewrite's name). Rules: inputs come from earlier nodes, which take part in
/// every step or have the same period; output types equal the inferred ones; variables exist and
/// are assigned at one place only unless shared; the losses are scalars made by loss ops; every
/// trainable has a gradient of its type and at least one update that assigns it; members of a
/// collective are complete, are at different places and agree.
void verify(const Step& step, const std::string& after);

/// Returns the first broken rule, or an empty text. For tests of the rules themselves.
std::string broken_rule(const Step& step);

}  // namespace regatta
