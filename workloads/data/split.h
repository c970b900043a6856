// SPDX-License-Identifier: Apache-2.0
//
// The two parts of a data set: for training and for evaluation.
#pragma once

namespace regatta {

enum class Split { Train, Test };

}  // namespace regatta
