// SPDX-License-Identifier: Apache-2.0
//
// Writes a partitioned step as execution traces of MLCommons Chakra, schema 1.0.0, which ASTRA-sim
// and other simulators can run. Process P has the file chakra.P.et. It is a sequence of Protocol
// Buffers messages (wire.h), each preceded by its length: a GlobalMetadata, then a Node for each
// instruction of the process's lanes:
//   COMP_NODE       a kernel, or a copy inside the process. duration_micros if times are given;
//                   num_ops: 2 per multiply-add, and for other kernels 1 per element that they
//                   compute or assign; tensor_size: bytes of inputs, outputs and variables;
//                   is_cpu_op if the node's place is the host.
//   COMM_SEND_NODE  comm_src, comm_dst: processes; comm_size: bytes; comm_tag: a number that is
//   COMM_RECV_NODE  equal in a send and its receive, and unique otherwise.
//   COMM_COLL_NODE  comm_type: ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER; comm_size: bytes of the
//                   bucket or, for ALL_GATHER, of the largest member's share; pg_name: 0 for all
//                   processes, else the number of a set in comm_groups.json; algorithm.
// data_deps of a node are the nodes that compute its inputs. ctrl_deps are the preceding node in
// its lane and the other nodes that it waits for, such as the assignment of a variable that it
// reads. A lane continues while its send between workers is in progress; the next node after a
// `sent` of the graph, which itself is not a node of the trace, depends on that send. If some nodes
// run only in some steps, the trace has as many steps as it takes for every node to run. All lanes
// of a loop end a step before any of them begins the next.
// Source: github.com/mlcommons/chakra, schema/protobuf/et_def.proto and src/generator, of 1.0.0;
// github.com/astra-sim/astra-sim, workload/Workload.cc, for the fields that it reads.
#pragma once

#include <span>
#include <vector>

#include "harness/export/exported_file.h"
#include "kernels/graph/graph.h"

namespace regatta::exports {

/// `times[p][n]` is the time of node n in the part of process p. Units: nanoseconds.
using NodeTimes = std::vector<std::vector<double>>;

/// Formats one trace per process. `parts[p]` is the part of process p, from partition(); `times` is
/// empty if unknown. Throws: RunError(Unsupported) for several workers in one process, backup
/// workers, workers that access each other's parameters asynchronously, --sync-from, and traces of
/// more than 1,000,000 nodes or messages.
std::vector<ExportedFile> chakra_traces(std::span<const Step> parts, const NodeTimes& times);

}  // namespace regatta::exports
