// SPDX-License-Identifier: Apache-2.0
//
// What kernels on a GPU do not compute yet: ops on variables that several replicas touch at any
// time (async_shared, servers): their versions are counted by the host while it runs.
#pragma once

#include <string>

#include "kernels/graph/error.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

/// Throws: RunError(Unsupported) where one of the node's variables is shared.
inline void refuse_shared(const KernelRequest& request) {
  for (const VariableStorage* variable : request.variables) {
    if (variable->sharing == Sharing::None) continue;
    throw RunError(ErrorKind::Unsupported,
                   "'" + std::string(to_string(request.node.op)) +
                       "' of a variable that replicas share at any time is not computed on a GPU; "
                       "use --device cpu or a synchronous strategy");
  }
}

}  // namespace regatta::cuda
