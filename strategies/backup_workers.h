// SPDX-License-Identifier: Apache-2.0
//
// parameter_server with backup workers: what it rewrites a step to where it has any.
#pragma once

#include <cstdint>

#include "kernels/graph/graph.h"

namespace regatta {

struct WorkersAndBackups {
  std::int64_t replicas = 1;  ///< whose shares are a global batch
  std::int64_t backups = 0;   ///< beyond those
};

/// `sharded`: as shard() leaves it.
Step with_backup_workers(const Step& sharded, const WorkersAndBackups& workers);

}  // namespace regatta
