// SPDX-License-Identifier: Apache-2.0
//
// Options that several workloads declare, each with defaults of its own.
#pragma once

#include "kernels/base/option.h"

namespace regatta::workloads {

inline constexpr Option kWidth = {
    .name = "width",
    .help = "channels of the first layer, of which the other layers have multiples",
    .unit = "",
    .type = Count{.default_value = std::nullopt, .least = 1, .most = 4096}};

}  // namespace regatta::workloads
