// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_rendezvous.h"

#include <deque>

#include "kernels/base/error.h"
#include "kernels/comm/backoff.h"
#include "kernels/comm/mpi/mpi_call.h"

namespace regatta::comm {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} << 10;

}  // namespace

/// Texts stay in place: a send that its deadline cut short may still read them.
struct MpiRendezvous::State {
  MpiSession& session;
  MpiComm communicator{};
  std::deque<std::string> sent;
  int rounds = 0;

  explicit State(MpiSession& the_session) : session(the_session) {
    mpi_call(mpi().comm_dup(mpi().world(), communicator), "MPI_Comm_dup");
  }

  /// Receives the text of `process` if it has arrived.
  bool take(int process, int tag, std::string& text) const {
    bool came = false;
    MpiMessage message{};
    int bytes = 0;
    mpi_call(mpi().improbe(process, tag, communicator, came, message, bytes), "MPI_Improbe");
    if (!came) return false;
    text.resize(static_cast<std::size_t>(bytes));
    mpi_call(mpi().mrecv(text.data(), bytes, message), "MPI_Mrecv");
    return true;
  }
};

MpiRendezvous::MpiRendezvous(MpiSession& session) : state_(std::make_unique<State>(session)) {}

/// Keeps the communicator until MPI_Finalize: freeing it waits for ranks that may be gone.
MpiRendezvous::~MpiRendezvous() = default;

int MpiRendezvous::process() const { return state_->session.rank(); }
int MpiRendezvous::processes() const { return state_->session.size(); }

std::vector<std::string> MpiRendezvous::exchange(const std::string& text,
                                                 const Patience& patience) {
  check(text.size() <= kMostBytes, "a text of a rendezvous has at most 64 KiB");
  const int tag = state_->rounds++;
  const std::string& kept = state_->sent.emplace_back(text);
  std::vector<MpiRequest> sends;
  std::vector<int> missing;
  for (int process = 0; process < processes(); ++process) {
    if (process == this->process()) continue;
    missing.push_back(process);
    mpi_call(mpi().isend(kept.data(), static_cast<int>(kept.size()), process, tag,
                         state_->communicator, sends.emplace_back()),
             "MPI_Isend");
  }
  std::vector<std::string> texts(static_cast<std::size_t>(processes()));
  texts[static_cast<std::size_t>(this->process())] = text;
  bool sent = false;
  Backoff backoff(patience);
  while (!missing.empty() || !sent) {
    std::erase_if(missing, [&](int process) {
      return state_->take(process, tag, texts[static_cast<std::size_t>(process)]);
    });
    sent = true;
    for (MpiRequest& send : sends) {
      bool done = false;
      mpi_call(mpi().test(send, done), "MPI_Test");
      sent = sent && done;
    }
    if (missing.empty() && sent) break;
    if (backoff.wait()) continue;
    std::string who;
    for (int process : missing) who += ' ' + std::to_string(process);
    throw RunError(ErrorKind::Timeout, "process " + std::to_string(this->process()) +
                                           " waited in vain to meet process" +
                                           (who.empty() ? " it had sent its text to" : who) +
                                           "; fix: look at what that one printed last");
  }
  return texts;
}

}  // namespace regatta::comm
