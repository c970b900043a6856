// SPDX-License-Identifier: Apache-2.0
//
// Defines the values of `--device`. Only this file and make_backend() compare a device's name.
#pragma once

#include <array>
#include <string_view>

namespace regatta::plan {

inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::string_view kCuda = "cuda";
inline constexpr std::array kDeviceNames = {kCpu, kCuda};

inline bool is_gpu(std::string_view device) { return device == kCuda; }

}  // namespace regatta::plan
