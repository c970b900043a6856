// SPDX-License-Identifier: Apache-2.0
//
// Declares the fields of the parts of a record about simulated machines and a machine's load
// (record_fields.h).
#pragma once

#include "harness/record/record.h"
#include "harness/system/machine_fields.h"
#include "kernels/base/fields.h"

namespace regatta::record {

template <FieldsOf<HardwareRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("link_bytes_per_s", part.link_bytes_per_s,
        About{.text = "Speed of the narrowest link of a host in either direction; null: no limit.",
              .above = 0});
  field("core_bytes_per_s", part.core_bytes_per_s,
        About{.text = "Speed of the link that all traffic between hosts shares; null: no limit.",
              .above = 0});
  field("latency_ns", part.latency_ns, About{.text = "Latency from one host to another."});
  field("server_cores", part.server_cores,
        About{.text = "Number of cores of a parameter server.", .least = 1});
  field("compute_times", part.compute_times,
        About{.text = "Distribution of compute times from step to step.",
              .values = "constant|gamma|log_normal|shifted_exponential|samples"});
  field("spread", part.spread, About{.text = "Spread of that distribution, relative to its mean."});
  field("cpu", part.cpu,
        About{.text = "Processor whose costs the calibration has.", .pattern = ""});
  field(
      "queue_bytes", part.queue_bytes,
      About{.text = "Bytes that a flow queues in front of the link that limits it.", .since = 11});
  field("machine_cores", part.machine_cores,
        About{.text = "Number of cores of the machine whose cores the hosts get in turn, one each; "
                      "0: hosts have cores of their own.",
              .since = 11});
}

template <FieldsOf<Simulated> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field(
      "mode", part.mode,
      About{
          .text =
              "Time: nothing was computed or evaluated; train: kernels computed in virtual order.",
          .values = "time|train"});
  field("cluster", part.cluster,
        About{.text = "Digest of the cluster's file.", .pattern = "^[0-9a-f]{16}$"});
  field("calibration", part.calibration,
        About{.text = "Digest of the file of costs.", .pattern = "^[0-9a-f]{16}$"});
  field("source", part.source,
        About{.text = "Origin of these costs in the file's words.", .pattern = ""});
  field("hosts", part.hosts, About{.text = "Number of hosts of the cluster.", .least = 1});
  field("events", part.events, About{.text = "Number of events that were simulated."});
  field("places_per_built", part.places_per_built,
        About{.text = "Number of alike workers for which each listed one stands, itself included; "
                      "null: all are listed.",
              .since = 17,
              .least = 2});
  field("hardware", part.hardware,
        About{.text = "Hardware of the cluster, and the processor whose costs its kernels have.",
              .since = 6});
}

template <FieldsOf<LoadRecord> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("before", part.before, About{.text = "Load before the set-up.", .unit = "threads"});
  field("after", part.after, About{.text = "Load after the last evaluation.", .unit = "threads"});
}

}  // namespace regatta::record
