// SPDX-License-Identifier: Apache-2.0
//
// The two parts of a data set: for training and for evaluation.
#pragma once

namespace regatta::workloads {

enum class Split { Train, Test };

}  // namespace regatta::workloads
