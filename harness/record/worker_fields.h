// SPDX-License-Identifier: Apache-2.0
//
// Declares the fields of a worker's record (record_fields.h).
#pragma once

#include "harness/record/record.h"
#include "kernels/base/fields.h"

namespace regatta::record {

template <FieldsOf<SpanRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("count", part.count, About{.text = "Number of spans."});
  field("sum", part.sum, About{.text = "Sum of all.", .unit = "nanoseconds"});
  field("p50", part.p50, About{.text = "Median, to within 6 %.", .unit = "nanoseconds"});
  field("p99", part.p99, About{.text = "99th percentile, to within 6 %.", .unit = "nanoseconds"});
  field("max", part.max, About{.text = "Longest.", .unit = "nanoseconds"});
}

template <FieldsOf<PushRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("barrier_ns", part.barrier_ns,
        About{.text = "Time from the first worker's complete push of a step to the last worker's; "
                      "empty if workers do not wait for each other. Counted: steps."});
  field("queue_ns", part.queue_ns,
        About{.text =
                  "Time from the last chunk of a message until the server's lane takes it; a lane "
                  "that waits for it takes it at once. Counted: messages; a push is one or more."});
  field("wire_ns", part.wire_ns,
        About{.text = "Time from the first chunk of a message to the last, at the server; 0 for a "
                      "message of one chunk. Counted: messages."});
}

template <FieldsOf<WorkerRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("rank", part.rank, About{.text = "Rank of its process."});
  field("host", part.host, About{.text = "Name of its host, as the host has it.", .since = 4});
  field(
      "place", part.place,
      About{.text = "Its place: replica0, replica1.stage2.shard1, host, server0; server0.replica1 "
                    "and peer3.replica0 are the loop of that replica at a server or at another "
                    "replica.",
            .pattern = R"(^(replica[0-9]+(\.stage[0-9]+)?(\.shard[0-9]+)?|host|)"
                       R"(server[0-9]+(\.replica[0-9]+)?|peer[0-9]+\.replica[0-9]+)$)"});
  field("replica", part.replica, About{.text = "Number of its replica."});
  field("steps", part.steps, About{.text = "Number of its steps."});
  field("compute_ns", part.compute_ns,
        About{.text = "Time of forward and backward passes, with a straggler's delays."});
  field("delay_ns", part.delay_ns,
        About{.text = "Part of compute_ns that --straggler added after computing; 0 without.",
              .since = 2});
  field("straggler_factor", part.straggler_factor,
        About{.text = "Measured factor on its compute time: compute_ns / (compute_ns - delay_ns). "
                      "Null for a worker without delay.",
              .unit = "none",
              .since = 2,
              .least = 1});
  field("exposed_communication_ns", part.exposed_communication_ns,
        About{.text = "Time of communication that no computation hid."});
  field("wait_ns", part.wait_ns, About{.text = "Time spent waiting for other workers to arrive."});
  field("bubble_ns", part.bubble_ns,
        About{.text = "Part of wait_ns in which a stage waited for other stages of its replica.",
              .since = 8});
  field("input_ns", part.input_ns, About{.text = "Time spent waiting for the next batch."});
  field("update_ns", part.update_ns, About{.text = "Time of the optimizer's updates."});
  field(
      "planned_bytes", part.planned_bytes,
      About{
          .text =
              "Memory planned for its variables and values in training; 0 if nothing was computed.",
          .since = 7});
  field("parameter_bytes", part.parameter_bytes,
        About{.text = "Part of planned_bytes for parameters and running statistics.", .since = 14});
  field("slot_bytes", part.slot_bytes,
        About{.text = "Part of planned_bytes for slots of the optimizer.", .since = 14});
  field("activation_bytes", part.activation_bytes,
        About{.text = "Part of planned_bytes for values of the forward pass, also those computed "
                      "again, when most bytes of values are alive.",
              .since = 14});
  field(
      "gradient_bytes", part.gradient_bytes,
      About{.text = "Part of planned_bytes for other values of the backward pass, when most "
                    "bytes of values are alive. The rest is for inputs, values of updates, values "
                    "that travel, and gaps.",
            .since = 14});
  field("process_peak_bytes", part.process_peak_bytes,
        About{.text = "Peak memory of its process until training ended by the kernel's count, with "
                      "code and scratch memory of kernels; the same for all workers of a process.",
              .since = 8});
  field("bytes_sent", part.bytes_sent,
        About{.text = "Bytes sent, counted at the transport.", .unit = "bytes"});
  field("bytes_received", part.bytes_received,
        About{.text = "Bytes received, counted at the transport.", .unit = "bytes"});
  field(
      "staleness_histogram", part.staleness_histogram,
      About{.text = "Element s is the number of updates that missed s versions: updates by others "
                    "since the parameter was read, under ad_psgd averages that others began.",
            .each = "Number of updates."});
  field(
      "age_ns", part.age_ns,
      About{
          .text =
              "Staleness in time: age of the values that an update was computed from, from the "
              "moment before the parameter was copied for the worker to the moment when the update "
              "was applied, by the clock of the process that holds the parameter: the server's at "
              "the pull and at the push. Null if staleness is not counted. Counted: the updates of "
              "staleness_histogram, one per parameter (or a server's part of one) and step.",
          .since = 2});
  field("updates_applied", part.updates_applied,
        About{.text = "Number of updates of the parameters that hold its gradients: steps whose "
                      "push every server took, or its steps if nothing is pushed to a server's "
                      "process; with backup workers, its pushes that a step took, by the first "
                      "server's count. For a server: pushes that it took. For a peer: 0.",
              .since = 2});
  field("updates_dropped", part.updates_dropped,
        About{.text = "With backup workers: number of its pushes that came late and were dropped, "
                      "by the first server's count. 0 without.",
              .since = 2});
  field(
      "late_ns", part.late_ns,
      About{.text = "Time by which this worker arrived after the first: at a collective (each "
                    "bucket of each step is one), or by the last byte of its push at a server, by "
                    "that server's clock. Over processes each notes its arrivals by its own clock "
                    "and the clocks are compared (clocks); arrivals beyond 2^20 per process since "
                    "the start or the last checkpoint are not counted. Null if unknown: without a "
                    "collective or a server, with NCCL, and over processes in a run that failed "
                    "before this was computed. Counted: exchanges, at all servers together.",
            .since = 2});
  field(
      "late_uncertainty_ns", part.late_uncertainty_ns,
      About{.text =
                "Bound on the error of each of these spans, in either direction, that comes from "
                "comparing the clocks of two processes: the error of this worker's clock plus the "
                "largest of the others'. It holds if clocks part evenly between two comparisons. 0 "
                "if one clock measured all (on one host), null if late_ns is null.",
            .since = 2});
  field("exchange_wait_ns", part.exchange_wait_ns,
        About{.text = "Time spent waiting inside a collective for the other members' parts, by "
                      "this worker's own clock: the last to arrive waits least. Null without one. "
                      "With --all-reduce mpi only the time that roots and members of one process "
                      "wait for each other, without the library's own wait. Counted: exchanges.",
              .since = 2});
  field("pushes", part.pushes,
        About{.text = "For a server's process: times of the gradients that workers pushed, by its "
                      "own clock; update_ns is the time to apply them. Null for others.",
              .since = 2});
}

}  // namespace regatta::record
