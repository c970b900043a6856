// SPDX-License-Identifier: Apache-2.0
//
// A partitioned step as execution traces of MLCommons Chakra, schema 1.0.0, which ASTRA-sim and
// other simulators run: chakra.P.et for process P, with Protocol Buffers messages (wire.h), each
// preceded by its length: GlobalMetadata, then a Node for each instruction of the process' lanes.
//   COMP_NODE       a kernel, or a copy inside the process. duration_micros if times are given;
//                   num_ops: 2 for each multiply-add; for other kernels, 1 for each element that
//                   they make or assign; tensor_size: bytes of inputs, outputs and variables;
//                   is_cpu_op if at the host's place.
//   COMM_SEND_NODE  comm_src, comm_dst: processes; comm_size: bytes; comm_tag: a number that only
//   COMM_RECV_NODE  a send and its receive share.
//   COMM_COLL_NODE  comm_type: ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER; comm_size: bytes of the
//                   bucket or, for ALL_GATHER, of the largest member's share; pg_name: 0 for all
//                   processes, else the number of a set in comm_groups.json; algorithm.
// data_deps are the nodes that make a node's inputs. ctrl_deps are the nodes before it in its lane,
// and other nodes that it waits for: an assignment, if it reads the variable. A send between
// workers only begins in its lane, which continues; an instruction that must end after the send (a
// `sent` of the graph, which is no node) depends on it. If nodes take turns, the step is repeated
// until all nodes have taken part; lanes of a loop begin a step when all have ended the last.
// Source: github.com/mlcommons/chakra, schema/protobuf/et_def.proto and src/generator, of 1.0.0;
// github.com/astra-sim/astra-sim, workload/Workload.cc, for the fields that it reads.
#pragma once

#include <span>
#include <vector>

#include "harness/export/exported_file.h"
#include "kernels/graph/graph.h"

namespace regatta {

/// Times by process, then by node of its part. Units: nanoseconds.
using NodeTimes = std::vector<std::vector<double>>;

/// Writes a trace for each process. `parts`: by process, from partition(). `times`: empty if
/// unknown. Throws: RunError(Unsupported) for several workers in one process, for backup workers,
/// and for workers that share or average parameters at any time.
std::vector<ExportedFile> chakra_traces(std::span<const Step> parts, const NodeTimes& times);

}  // namespace regatta
