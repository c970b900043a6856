// SPDX-License-Identifier: Apache-2.0
//
// Declares the fields of the facts about a machine and its software, as records name them.
#pragma once

#include "harness/system/machine.h"
#include "kernels/base/about.h"
#include "kernels/base/fields.h"

namespace regatta::system {

template <FieldsOf<MachineFacts> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("cpu", part.cpu, About{.text = "Model of the CPU in its maker's words."});
  field("architecture", part.architecture,
        About{.text = "Architecture of the CPU, as Linux names it.", .since = 18});
  field("isa", part.isa,
        About{.text = "Recorded instruction set extensions that the CPU has.",
              .each = "An extension."});
  field("cores_available", part.cores_available,
        About{.text = "Number of logical cores that the process may run on.", .least = 1});
  field("cores_physical", part.cores_physical,
        About{.text = "Number of physical cores behind them.", .least = 1});
  field("cores_used", part.cores_used,
        About{.text = "Number of logical cores that the run used on all its hosts.", .least = 1});
  field("cpu_quota", part.cpu_quota,
        About{.text = "CPU limit of the control groups; null: none.", .unit = "cores", .above = 0});
  field("memory_bytes", part.memory_bytes, About{.text = "Size of the main memory."});
  field("gpus", part.gpus, About{.text = "Model of each GPU.", .each = "A model."});
  field("driver", part.driver, About{.text = "Version of the GPUs' driver; null without GPUs."});
  field("link", part.link, About{.text = "Means by which bytes travel between workers."});
}

template <FieldsOf<SoftwareFacts> T, typename Field>
void for_each_field(T& part, Field&& field) {
  field("compiler", part.compiler,
        About{.text = "Name, version, build type and target instruction set."});
  field("onednn", part.onednn, About{.text = "Version of oneDNN."});
  field("open_mpi", part.open_mpi, About{.text = "Version of the MPI library."});
  field("grpc", part.grpc, About{.text = "Version of gRPC."});
  field("cuda", part.cuda, About{.text = "Version of CUDA."});
  field("cudnn", part.cudnn, About{.text = "Version of cuDNN."});
  field("nccl", part.nccl, About{.text = "Version of NCCL."});
  field("git_commit", part.git_commit,
        About{.text = "Commit of the sources; unknown outside a git checkout.",
              .pattern = "^([0-9a-f]{40}|unknown)$"});
  field("dirty", part.dirty, About{.text = "Whether the sources differed from that commit."});
}

}  // namespace regatta::system
