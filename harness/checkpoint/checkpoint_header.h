// SPDX-License-Identifier: Apache-2.0
//
// The header of a checkpoint file as JSON. What is in the payload is named by its first byte there
// and its length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/checkpoint/checkpoint.h"

namespace regatta {

/// A part of the payload. Units: bytes.
struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Where the payload has what a checkpoint's report and variables hold.
struct Layout {
  struct History {
    Extent step_ns, losses, examples;
  };
  std::vector<History> loops;
  std::vector<Extent> variables;
};

std::string header_text(const Checkpoint& checkpoint, const Layout& layout);

/// All but histories and memory, and where those are.
/// Throws: nlohmann::json::exception where the text is no such header.
Checkpoint checkpoint_in(std::string_view header, Layout& layout);

}  // namespace regatta
