// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/nccl/nccl_communicator.h"

#include <algorithm>
#include <utility>

#include "kernels/comm/backoff.h"
#include "kernels/graph/error.h"

namespace regatta {

NcclCommunicator::NcclCommunicator(Request request) : request_(std::move(request)) {}

NcclCommunicator::~NcclCommunicator() {
  if (communicator_ != nullptr) abort();
  if (done_ != nullptr) request_.calls->event_destroy(done_);
}

void NcclCommunicator::begin(const std::string& id) {
  ncclUniqueId unique{};
  check(id.size() == sizeof unique.internal, "a unique id has NCCL's size");
  std::copy(id.begin(), id.end(), unique.internal);
  adopt_thread();
  cuda_call_for_nccl(request_.calls->event_create(&done_, cudaEventDisableTiming),
                     "cudaEventCreateWithFlags");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  nccl_call(
      *request_.calls,
      request_.calls->comm_init_rank_config(&communicator_, static_cast<int>(request_.members),
                                            unique, static_cast<int>(request_.member), &config),
      "ncclCommInitRankConfig");
}

void NcclCommunicator::adopt_thread() const {
  cuda_call_for_nccl(request_.calls->set_device(request_.device), "cudaSetDevice");
}

bool NcclCommunicator::is_settled() {
  ncclResult_t state = ncclInProgress;
  const ncclResult_t asked = request_.calls->comm_get_async_error(communicator_, &state);
  if (asked != ncclSuccess) fail(asked);
  if (state == ncclSuccess) return true;
  if (state != ncclInProgress) fail(state);
  return false;
}

void NcclCommunicator::register_buffer(const Tensor& buffer) {
  nccl_call(*request_.calls,
            request_.calls->comm_register(communicator_, buffer.data,
                                          static_cast<std::size_t>(buffer.type.bytes()),
                                          &registrations_[buffer.data]),
            "ncclCommRegister");
}

void NcclCommunicator::deregister_buffer(const Tensor& buffer) noexcept {
  const auto found = registrations_.find(buffer.data);
  if (found == registrations_.end()) return;
  if (communicator_ != nullptr) request_.calls->comm_deregister(communicator_, found->second);
  registrations_.erase(found);
}

void NcclCommunicator::all_reduce(const Tensor& buffer, cudaStream_t stream,
                                  const Patience& patience) {
  check(communicator_ != nullptr, "a communicator is connected before it is used");
  try {
    enqueue(buffer, stream, patience);
    cuda_call_for_nccl(request_.calls->event_record(done_, stream), "cudaEventRecord");
    await_event(patience);
  } catch (...) {
    abort();
    throw;
  }
}

void NcclCommunicator::enqueue(const Tensor& buffer, cudaStream_t stream,
                               const Patience& patience) {
  const ncclDataType_t type = buffer.type.element == ElementType::BF16 ? ncclBfloat16 : ncclFloat32;
  const ncclResult_t result = request_.calls->all_reduce(
      buffer.data, buffer.data, static_cast<std::size_t>(buffer.elements()), type, ncclSum,
      communicator_, stream);
  if (result != ncclSuccess && result != ncclInProgress) fail(result);
  // Before this the stream may not hold it yet, and what is put in next would come before it.
  Backoff backoff(patience);
  while (!is_settled()) {
    if (!backoff.wait()) give_up_waiting();
  }
}

void NcclCommunicator::look(std::int64_t waited_ns, const Patience& patience) {
  is_settled();  // throws where a peer is gone
  if (waited_ns > patience.limit_ns) give_up_waiting();
}

void NcclCommunicator::await_event(const Patience& patience) {
  Backoff backoff(patience);
  for (;;) {
    const cudaError_t state = request_.calls->event_query(done_);
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) cuda_call_for_nccl(state, "cudaEventQuery");
    is_settled();  // throws where a peer is gone
    if (!backoff.wait()) give_up_waiting();
  }
}

void NcclCommunicator::begin_close() noexcept {
  if (communicator_ == nullptr) return;
  const ncclResult_t result = request_.calls->comm_finalize(communicator_);
  if (result != ncclSuccess && result != ncclInProgress) abort();
}

bool NcclCommunicator::is_closed() noexcept {
  if (communicator_ == nullptr) return true;
  ncclResult_t state = ncclInProgress;
  const ncclResult_t asked = request_.calls->comm_get_async_error(communicator_, &state);
  if (asked == ncclSuccess && state == ncclInProgress) return false;
  if (asked == ncclSuccess && state == ncclSuccess) {
    request_.calls->comm_destroy(std::exchange(communicator_, nullptr));
  } else {
    abort();
  }
  return true;
}

void NcclCommunicator::abort() noexcept {
  aborted_ = true;
  if (communicator_ != nullptr) {
    request_.calls->comm_abort(std::exchange(communicator_, nullptr));
  }
}

void NcclCommunicator::fail(ncclResult_t result) {
  const bool is_peer = result == ncclRemoteError || result == ncclSystemError;
  const std::string words = nccl_words(*request_.calls, result, communicator_);
  throw RunError(
      is_peer ? ErrorKind::PeerLost : ErrorKind::Device,
      "all_reduce by NCCL, " + request_.name + ": " + words +
          (is_peer ? "; another member or the network to it is gone; fix: look at what the "
                     "other processes printed last"
                   : "; fix: run again with NCCL_DEBUG=WARN, which says more"));
}

void NcclCommunicator::give_up_waiting() {
  throw RunError(ErrorKind::Timeout,
                 "all_reduce by NCCL, " + request_.name +
                     ": waited in vain for the others; fix: look at what they printed last, and at "
                     "NCCL_DEBUG=INFO for the network between them");
}

}  // namespace regatta
