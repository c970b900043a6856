// SPDX-License-Identifier: Apache-2.0
//
// Which half of a data set: what a run learns from, or what it is judged by.
#pragma once

namespace regatta {

enum class Split { Train, Test };

}  // namespace regatta
