// SPDX-License-Identifier: Apache-2.0
//
// Clips gradients by their global norm: divides all gradients that a model applies by max(1, (norm
// + 1e-6) / limit), where `norm` is that of all of them together (torch.nn.utils.clip_grad_norm_).
// The pass runs after all strategies, because the norm is a sum over every gradient wherever it
// is applied: a gradient counts at the first place that applies it, and one message of one number
// joins the places. A replica that applies all gradients needs no message. Replicas that
// learn alone clip their own mean gradient.
#pragma once

#include "kernels/graph/graph.h"

namespace regatta {

/// Returns the step with its gradients clipped at Step::gradient_clip, which is 0 in the result.
/// All updates come after the last gradient, so that no gradient's memory is freed before. Throws:
/// RunError(Usage) if pushes are dropped by several servers, which do not wait for each other.
Step clip_gradients(const Step& step);

}  // namespace regatta
