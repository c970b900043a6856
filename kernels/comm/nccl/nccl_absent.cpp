// SPDX-License-Identifier: Apache-2.0
//
// Replaces nccl_transport.cpp in a build without CUDA: the transport's constructor throws an error
// with instructions for a build with NCCL.
#include "kernels/base/error.h"
#include "kernels/comm/nccl/nccl_transport.h"

namespace regatta::comm {
namespace {

constexpr char kMissing[] =
    "this build has no CUDA, so no NCCL: put nvcc on PATH and build again with -D REGATTA_CUDA=ON, "
    "or use --device cpu";

}  // namespace

struct NcclTransport::State {};

NcclTransport::NcclTransport(std::unique_ptr<Rendezvous>) {
  throw RunError(ErrorKind::Unsupported, kMissing);
}

NcclTransport::~NcclTransport() = default;
void NcclTransport::add_kernels(KernelTable&) {}
void NcclTransport::connect() {}

std::optional<std::string> version_of_nccl() { return std::nullopt; }
std::string why_no_nccl() { return kMissing; }

}  // namespace regatta::comm
