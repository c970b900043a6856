// SPDX-License-Identifier: Apache-2.0
//
// The rewrite for parameter_server with backup workers: additional replicas, so that a step can use
// the gradients that arrive first and drop the others.
#pragma once

#include <cstdint>

#include "kernels/graph/graph.h"

namespace regatta::strategies {

struct WorkersAndBackups {
  /// Number of replicas without the backups; their shares make up the global batch.
  std::int64_t replicas = 1;
  std::int64_t backups = 0;  ///< number of backup workers, which are additional replicas
};

/// Returns the step with backup workers. `sharded` must be a result of shard().
Step with_backup_workers(const Step& sharded, const WorkersAndBackups& workers);

}  // namespace regatta::strategies
