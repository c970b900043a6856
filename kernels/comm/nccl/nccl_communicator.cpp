// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/nccl/nccl_communicator.h"

#include <algorithm>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/comm/backoff.h"

namespace regatta::comm {
namespace {

bool is_error(ncclResult_t result) { return result != ncclSuccess && result != ncclInProgress; }

ncclDataType_t type_of(const NcclExchange& exchange) {
  return exchange.buffer.type.element == ElementType::BF16 ? ncclBfloat16 : ncclFloat32;
}

}  // namespace

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

void NcclCommunicator::run(const NcclExchange& exchange, cudaStream_t stream,
                           const Patience& patience) {
  check(communicator_ != nullptr, "a communicator is connected before it is used");
  try {
    enqueue(exchange, stream, patience);
    cuda_call_for_nccl(request_.calls->event_record(done_, stream), "cudaEventRecord");
    await_event(patience);
  } catch (...) {
    abort();
    throw;
  }
}

ncclResult_t NcclCommunicator::call(const NcclExchange& exchange, cudaStream_t stream) const {
  if (exchange.op != Op::AllReduce) return call_by_shares(exchange, stream);
  void* const data = exchange.buffer.data;
  return request_.calls->all_reduce(data, data,
                                    static_cast<std::size_t>(exchange.buffer.elements()),
                                    type_of(exchange), ncclSum, communicator_, stream);
}

ncclResult_t NcclCommunicator::call_by_shares(const NcclExchange& exchange,
                                              cudaStream_t stream) const {
  const NcclCalls& calls = *request_.calls;
  const std::int64_t bytes = size_of(exchange.buffer.type.element);
  ncclResult_t result = calls.group_start();
  for (std::size_t m = 0; m < exchange.shares.size() && !is_error(result); ++m) {
    const Range& share = exchange.shares[m];
    if (share.size() == 0) continue;
    void* const data = exchange.buffer.as<std::byte>() + share.begin * bytes;
    const auto count = static_cast<std::size_t>(share.size());
    const auto root = static_cast<int>(m);
    result =
        exchange.op == Op::ReduceScatter
            ? calls.reduce(data, data, count, type_of(exchange), ncclSum, root, communicator_,
                           stream)
            : calls.broadcast(data, data, count, type_of(exchange), root, communicator_, stream);
  }
  const ncclResult_t ended = calls.group_end();
  return is_error(result) ? result : ended;
}

void NcclCommunicator::enqueue(const NcclExchange& exchange, cudaStream_t stream,
                               const Patience& patience) {
  last_ = exchange.op;
  const ncclResult_t result = call(exchange, stream);
  if (is_error(result)) fail(result);
  // Until then the stream may not hold the exchange, and later work could enter it first.
  Backoff backoff(patience);
  while (!is_settled()) {
    if (!backoff.wait()) give_up_waiting();
  }
}

void NcclCommunicator::look(std::int64_t waited_ns, const Patience& patience) {
  is_settled();  // throws if a peer is gone
  if (waited_ns > patience.limit_ns) give_up_waiting();
}

void NcclCommunicator::await_event(const Patience& patience) {
  Backoff backoff(patience);
  for (;;) {
    const cudaError_t state = request_.calls->event_query(done_);
    if (state == cudaSuccess) return;
    if (state != cudaErrorNotReady) cuda_call_for_nccl(state, "cudaEventQuery");
    is_settled();  // throws if a peer is gone
    if (!backoff.wait()) give_up_waiting();
  }
}

void NcclCommunicator::begin_close() noexcept {
  if (communicator_ == nullptr) return;
  const ncclResult_t result = request_.calls->comm_finalize(communicator_);
  if (is_error(result)) abort();
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

std::string NcclCommunicator::title() const {
  return std::string(to_string(last_)) + " by NCCL, " + request_.name;
}

void NcclCommunicator::fail(ncclResult_t result) {
  const bool is_peer = result == ncclRemoteError || result == ncclSystemError;
  const std::string words = nccl_words(*request_.calls, result, communicator_);
  throw RunError(
      is_peer ? ErrorKind::PeerLost : ErrorKind::Device,
      title() + ": " + words +
          (is_peer ? "; another member or the network to it is gone; fix: look at what the "
                     "other processes printed last"
                   : "; fix: run again with NCCL_DEBUG=WARN, which says more"));
}

void NcclCommunicator::give_up_waiting() {
  throw RunError(ErrorKind::Timeout,
                 title() +
                     ": waited in vain for the others; fix: look at what they printed last, and at "
                     "NCCL_DEBUG=INFO for the network between them");
}

}  // namespace regatta::comm
