// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/dump.h"

#include "kernels/base/error.h"

namespace regatta::contender {

void dump(const plan::RaceRequest&, const std::string&,
          const std::function<void(const std::string&)>&) {
  throw RunError(ErrorKind::Unsupported, "regatta dump is not built yet");
}

}  // namespace regatta::contender
