// SPDX-License-Identifier: Apache-2.0
//
// A partitioned step as execution traces of MLCommons Chakra, schema 1.0.0, which ASTRA-sim and
// other simulators run: chakra.P.et for process P, of messages of Protocol Buffers (wire.h), each
// behind its length: GlobalMetadata, then a Node for each instruction of the process' lanes.
//   COMP_NODE       a kernel, or a copy inside the process. duration_micros where times are given;
//                   num_ops: 2 for each multiply-add, of other kernels 1 for each element that they
//                   make or assign; tensor_size: bytes of inputs, outputs and variables; is_cpu_op
//                   at the host's place.
//   COMM_SEND_NODE  comm_src, comm_dst: processes; comm_size: bytes; comm_tag: a number that the
//   COMM_RECV_NODE  send and its receive alone have in common.
//   COMM_COLL_NODE  comm_type: ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER; comm_size: bytes of the
//                   bucket, or for ALL_GATHER of a member's share, the largest; pg_name: 0 for all
//                   processes, else a number that comm_groups.json has the processes of; algorithm.
// data_deps are the nodes that make its inputs; ctrl_deps what its lane has done before it, and
// what it waits for beside values: an assignment for who reads the variable. A send between workers
// only begins in its lane, which goes on; what may end no earlier than the send (a `sent` of the
// graph, which is no node) depends on it. A step in which nodes take part by turns is written as
// often as it takes until all have; lanes of a loop begin a step when all have ended the last.
// Source: github.com/mlcommons/chakra, schema/protobuf/et_def.proto and src/generator, of 1.0.0;
// what is read of it: github.com/astra-sim/astra-sim, workload/Workload.cc.
#pragma once

#include <span>
#include <vector>

#include "harness/export/exported_file.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// By process, and by node of its part. Units: nanoseconds.
using NodeTimes = std::vector<std::vector<double>>;

/// `parts`: by process, as partition() made them. `times`: empty where they are not known.
/// Throws: RunError(Unsupported) for several workers in one process, for backup workers, and for
/// workers that share or average parameters at any time.
std::vector<ExportedFile> chakra_traces(std::span<const Step> parts, const NodeTimes& times);

}  // namespace regatta
