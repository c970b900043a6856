// SPDX-License-Identifier: Apache-2.0
//
// A data set in memory, as plain data. Images are bytes, augmented and normalised by the input op;
// features are floats, used as they are. workloads/ loads data sets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace regatta {

enum class DataOrigin {
  Made,       ///< by the program
  Published,  ///< files with the bytes that their authors published
  Unverified  ///< other files in their place, which the user allowed
};

struct DataSet {
  std::string name;
  std::string digest;  ///< MD5 of its bytes, 32 hexadecimal digits; empty where it was not computed
  DataOrigin origin = DataOrigin::Made;
  std::int64_t count = 0;  ///< examples

  // Images: the first three are set, the other empty.
  std::int64_t side = 0;  ///< pixels; images are square
  std::int64_t channels = 0;
  std::vector<std::uint8_t> images;  ///< [count, side, side, channels]
  std::vector<std::int32_t> labels;  ///< [count]

  // Features: only these are set.
  std::vector<float> features;  ///< [count, features per example]
  std::vector<float> targets;   ///< [count, targets per example]

  bool has_images() const { return !images.empty(); }
  std::int64_t bytes() const {
    return static_cast<std::int64_t>(images.size() + labels.size() * sizeof labels[0] +
                                     features.size() * sizeof features[0] +
                                     targets.size() * sizeof targets[0]);
  }
};

}  // namespace regatta
