// SPDX-License-Identifier: Apache-2.0
//
// The rewrites, one a file of the same name. Add one here, in its file, and in strategy.cpp.
#pragma once

#include "strategies/strategy.h"

namespace regatta {

Step single(const Step& step, const StrategyOptions& options);
Step independent(const Step& step, const StrategyOptions& options);
Step in_graph(const Step& step, const StrategyOptions& options);
Step central_storage(const Step& step, const StrategyOptions& options);
Step all_reduce(const Step& step, const StrategyOptions& options);
Step parameter_server(const Step& step, const StrategyOptions& options);
/// What parameter_server is where there are backup workers.
Step backup_workers(const Step& step, const StrategyOptions& options);
Step parameter_server_async(const Step& step, const StrategyOptions& options);
Step async_shared(const Step& step, const StrategyOptions& options);
Step model_parallel(const Step& step, const StrategyOptions& options);

}  // namespace regatta
