// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_messages.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/comm/backoff.h"
#include "kernels/comm/staging.h"
#include "kernels/distribute/partition.h"
#include "kernels/runtime/measure/clock.h"

namespace regatta::comm {
namespace {

/// A part of a message, in place in its tensor's memory.
struct Chunk {
  std::byte* data = nullptr;
  int bytes = 0;
};

std::vector<Chunk> chunks_of(std::span<const Tensor> tensors, std::int64_t chunk_bytes) {
  std::vector<Chunk> chunks;
  for (const Tensor& tensor : tensors) {
    const std::int64_t bytes = tensor.type.bytes();
    for (std::int64_t begin = 0; begin < bytes; begin += chunk_bytes) {
      chunks.push_back({.data = tensor.as<std::byte>() + begin,
                        .bytes = static_cast<int>(std::min(chunk_bytes, bytes - begin))});
    }
  }
  return chunks;
}

/// A message's peer, tag, communicator and limits, for all of its kernels.
struct Line {
  int peer = 0;
  int tag = 0;
  MpiComm communicator{};
  Patience patience;
  std::string what;  ///< `message 7 (conv2)`

  [[noreturn]] void fail(std::int64_t step, const std::string& problem) const {
    throw RunError(ErrorKind::Timeout, "step " + std::to_string(step) + ", " + what + ": after " +
                                           std::to_string(patience.limit_ns / 1'000'000) + " ms " +
                                           problem + " process " + std::to_string(peer));
  }
};

class SendKernel final : public Kernel {
 public:
  SendKernel(const KernelRequest& request, Line line, std::int64_t chunk_bytes,
             std::unique_ptr<Outgoing>& outgoing, MpiCourier& courier, MemberTraffic& traffic)
      : line_(std::move(line)),
        staging_(request.queue, request.inputs),
        chunks_(chunks_of(staging_.tensors(), chunk_bytes)),
        courier_(courier),
        traffic_(traffic) {
    outgoing = std::make_unique<Outgoing>(chunks_.size());
    outgoing_ = outgoing.get();
    courier_.announce();
  }

  ~SendKernel() override {
    if (!outgoing_->has_left()) courier_.stop();
  }

  void run(const StepContext& context) override {
    staging_.fetch();
    if (!outgoing_->wait(outgoing_->begun(), line_.patience)) {
      line_.fail(context.step, "the last step's was not taken by");
    }
    outgoing_->begin();
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      mpi_call(mpi().isend(chunks_[i].data, chunks_[i].bytes, line_.peer, line_.tag,
                           line_.communicator, outgoing_->requests()[i]),
               "MPI_Isend");
    }
    if (!outgoing_->look()) courier_.take(*outgoing_);
    traffic_.sent += staging_.bytes();
  }

 private:
  Line line_;
  Staging staging_;
  std::vector<Chunk> chunks_;
  Outgoing* outgoing_ = nullptr;
  MpiCourier& courier_;
  MemberTraffic& traffic_;
};

/// Waits until a step's sends have left. Some may be another lane's and not have begun.
class SentKernel final : public Kernel {
 public:
  struct Awaited {
    Line line;
    const std::unique_ptr<Outgoing>& outgoing;
  };
  explicit SentKernel(std::vector<Awaited> sends) : sends_(std::move(sends)) {}

  void run(const StepContext& context) override {
    ++times_;
    context.counters->peer_waits.begin(ticks());
    for (const Awaited& send : sends_) {
      if (send.outgoing->wait(times_, send.line.patience)) continue;
      send.line.fail(context.step, "it was not taken by");
    }
    context.counters->peer_waits.end(ticks());
  }

 private:
  std::vector<Awaited> sends_;
  std::uint64_t times_ = 0;
};

class ReceiveKernel final : public Kernel {
 public:
  ReceiveKernel(const KernelRequest& request, Line line, std::int64_t chunk_bytes,
                MemberTraffic& traffic)
      : line_(std::move(line)),
        staging_(request.queue, request.outputs),
        chunks_(chunks_of(staging_.tensors(), chunk_bytes)),
        requests_(chunks_.size()),
        traffic_(traffic) {
    if (request.inputs.empty()) return;
    check(request.queue == nullptr, "what is added onto sums is received by the host");
    for (const Tensor& tensor : request.outputs) {
      check(tensor.type.element == ElementType::F32, "what is added onto sums is f32");
    }
    added_.resize(static_cast<std::size_t>(staging_.bytes()) / sizeof(float));
  }

  /// Cancels the requests of a failed run.
  ~ReceiveKernel() override {
    for (MpiRequest& request : requests_) {
      if (request == MpiRequest{}) continue;
      mpi().cancel(request);
      mpi().request_free(request);
    }
  }

  void run(const StepContext& context) override {
    staging_.begin();
    Backoff backoff(line_.patience, Backoff::kLongestNapOfLongWaitNs);
    context.counters->peer_waits.begin(ticks());
    while (!begins()) {
      if (!backoff.wait()) line_.fail(context.step, "nothing has come from");
    }
    context.counters->peer_waits.end(ticks());
    for (std::size_t i = 1; i < chunks_.size(); ++i) {
      mpi_call(mpi().irecv(landing(i), chunks_[i].bytes, line_.peer, line_.tag, line_.communicator,
                           requests_[i]),
               "MPI_Irecv");
    }
    std::int64_t landed = 0;
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      backoff.reset();
      while (!has_come(i)) {
        if (!backoff.wait()) line_.fail(context.step, missing_text(landed));
      }
      add(i);
      landed += chunks_[i].bytes;
      staging_.store_until(landed);
    }
    traffic_.received += staging_.bytes();
    ++traffic_.messages;
  }

 private:
  /// Starts to receive the first chunk if the peer has sent it.
  bool begins() {
    bool came = false;
    MpiMessage message{};
    int bytes = 0;
    mpi_call(mpi().improbe(line_.peer, line_.tag, line_.communicator, came, message, bytes),
             "MPI_Improbe");
    if (!came) return false;
    check(bytes == chunks_[0].bytes, "both ends of a message agree on its size");
    mpi_call(mpi().imrecv(landing(0), bytes, message, requests_[0]), "MPI_Imrecv");
    return true;
  }

  bool has_come(std::size_t chunk) {
    bool done = false;
    mpi_call(mpi().test(requests_[chunk], done), "MPI_Test");
    return done;
  }

  /// The address that MPI writes a chunk to: its place in the tensors, or in `added_`.
  std::byte* landing(std::size_t chunk) {
    if (added_.empty()) return chunks_[chunk].data;
    std::int64_t before = 0;
    for (std::size_t i = 0; i < chunk; ++i) before += chunks_[i].bytes;
    return reinterpret_cast<std::byte*>(added_.data()) + before;
  }

  void add(std::size_t chunk) {
    if (added_.empty()) return;
    auto* const sums = reinterpret_cast<float*>(chunks_[chunk].data);
    const auto* const terms = reinterpret_cast<const float*>(landing(chunk));
    const auto count = chunks_[chunk].bytes / static_cast<int>(sizeof(float));
    for (int i = 0; i < count; ++i) sums[i] += terms[i];
  }

  std::string missing_text(std::int64_t landed) const {
    return std::to_string(staging_.bytes() - landed) + " of " + std::to_string(staging_.bytes()) +
           " bytes are missing from";
  }

  Line line_;
  Staging staging_;
  std::vector<Chunk> chunks_;
  std::vector<MpiRequest> requests_;
  std::vector<float> added_;  ///< received values to be added; empty if chunks land in place
  MemberTraffic& traffic_;
};

}  // namespace

MpiMessages::MpiMessages(MpiSession& session, const MpiMessageOptions& options, Accounts& accounts)
    : session_(session), options_(options), accounts_(accounts) {
  mpi_call(mpi().comm_dup(mpi().world(), communicator_), "MPI_Comm_dup");
  int highest = 0;
  mpi_call(mpi().highest_tag(communicator_, highest), "MPI_Comm_get_attr");
  check(highest > 0, "MPI knows its highest tag");
  highest_tag_ = highest;
}

std::int64_t MpiMessages::chunk_bytes(int peer) const {
  const std::vector<int>& hosts = session_.hosts();
  const bool same =
      hosts[static_cast<std::size_t>(peer)] == hosts[static_cast<std::size_t>(session_.rank())];
  return same ? options_.chunk_bytes : options_.chunk_bytes_between_hosts;
}

void MpiMessages::check_ends(std::int64_t message, std::int64_t peer) const {
  const std::string title = "message " + std::to_string(message);
  if (peer < 0 || peer >= session_.size()) {
    throw RunError(ErrorKind::Usage, title + " is for process " + std::to_string(peer) +
                                         ", but MPI started " + std::to_string(session_.size()));
  }
  if (message > highest_tag_) {
    throw RunError(ErrorKind::Unsupported,
                   title + ": over MPI at most " + std::to_string(highest_tag_ + 1) + " messages");
  }
}

std::unique_ptr<Kernel> MpiMessages::build(const KernelRequest& request) {
  const Node& node = request.node;
  const auto line_of = [&](std::int64_t message, std::int64_t peer) {
    check_ends(message, peer);
    return Line{.peer = static_cast<int>(peer),
                .tag = static_cast<int>(message),
                .communicator = communicator_,
                .patience = {.abort = request.abort,
                             .spins = request.spins,
                             .yields = request.yields,
                             .limit_ns = options_.limit_ns},
                .what = "message " + std::to_string(message) + " (" + node.layer + ")"};
  };
  if (node.op == Op::Sent) {
    std::vector<SentKernel::Awaited> sends;
    const std::vector<std::int64_t>& peers = node.attributes.integers("peers");
    const std::vector<std::int64_t>& messages = node.attributes.integers("messages");
    for (std::size_t i = 0; i < messages.size(); ++i) {
      sends.push_back(
          {.line = line_of(messages[i], peers.at(i)), .outgoing = outgoing_[messages[i]]});
    }
    return std::make_unique<SentKernel>(std::move(sends));
  }
  const std::int64_t message = node.attributes.integer("message");
  Line line = line_of(message, node.attributes.integer("peer"));
  const std::int64_t chunk = chunk_bytes(line.peer);
  MemberTraffic& traffic = accounts_.open(node.place).traffic;
  if (node.op == Op::Send) {
    return std::make_unique<SendKernel>(request, std::move(line), chunk, outgoing_[message],
                                        courier_, traffic);
  }
  return std::make_unique<ReceiveKernel>(request, std::move(line), chunk, traffic);
}

}  // namespace regatta::comm
