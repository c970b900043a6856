// SPDX-License-Identifier: Apache-2.0
//
// What `--device` takes. Only this file and make_backend() tell devices by their names.
#pragma once

#include <array>
#include <string_view>

namespace regatta {

inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::string_view kCuda = "cuda";
inline constexpr std::array kDeviceNames = {kCpu, kCuda};

inline bool is_gpu(std::string_view device) { return device == kCuda; }

}  // namespace regatta
