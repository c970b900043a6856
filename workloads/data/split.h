// SPDX-License-Identifier: Apache-2.0
//
// The part of a data set: for training or for evaluation.
#pragma once

namespace regatta {

enum class Split { Train, Test };

}  // namespace regatta
