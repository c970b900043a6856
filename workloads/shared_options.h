// SPDX-License-Identifier: Apache-2.0
//
// Options that several workloads declare, each with defaults of its own.
#pragma once

#include "kernels/base/option.h"

namespace regatta::workloads {

inline constexpr Option kContext = {
    .name = "context",
    .help = "tokens of a sequence, which is one example",
    .unit = "tokens",
    .type = Count{.default_value = std::nullopt, .least = 1, .most = 1 << 20}};

inline constexpr Option kVocabulary = {
    .name = "vocabulary",
    .help = "number of tokens that the model knows",
    .unit = "",
    .type = Count{.default_value = std::nullopt, .least = 2, .most = 1 << 20}};

inline constexpr Option kWidth = {
    .name = "width",
    .help = "channels of the first layer or of a token, of which other layers have multiples",
    .unit = "",
    .type = Count{.default_value = std::nullopt, .least = 1, .most = 65536}};

}  // namespace regatta::workloads
