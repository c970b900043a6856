// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/mpi/mpi_rendezvous.h"

#include <algorithm>
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
  MPI_Comm communicator = MPI_COMM_NULL;
  std::deque<std::string> sent;
  int rounds = 0;

  explicit State(MpiSession& the_session) : session(the_session) {
    mpi_call(MPI_Comm_dup(MPI_COMM_WORLD, &communicator), "MPI_Comm_dup");
  }

  /// Receives the text of `process` if it has arrived.
  bool take(int process, int tag, std::string& text) const {
    int come = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    mpi_call(MPI_Improbe(process, tag, communicator, &come, &message, &status), "MPI_Improbe");
    if (come == 0) return false;
    int bytes = 0;
    mpi_call(MPI_Get_count(&status, MPI_CHAR, &bytes), "MPI_Get_count");
    text.resize(static_cast<std::size_t>(bytes));
    mpi_call(MPI_Mrecv(text.data(), bytes, MPI_CHAR, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
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
  std::vector<MPI_Request> sends;
  std::vector<int> missing;
  for (int process = 0; process < processes(); ++process) {
    if (process == this->process()) continue;
    missing.push_back(process);
    mpi_call(MPI_Isend(kept.data(), static_cast<int>(kept.size()), MPI_CHAR, process, tag,
                       state_->communicator, &sends.emplace_back(MPI_REQUEST_NULL)),
             "MPI_Isend");
  }
  std::vector<std::string> texts(static_cast<std::size_t>(processes()));
  texts[static_cast<std::size_t>(this->process())] = text;
  int sends_done = 0;
  Backoff backoff(patience);
  while (!missing.empty() || sends_done == 0) {
    std::erase_if(missing, [&](int process) {
      return state_->take(process, tag, texts[static_cast<std::size_t>(process)]);
    });
    mpi_call(
        MPI_Testall(static_cast<int>(sends.size()), sends.data(), &sends_done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    if (missing.empty() && sends_done != 0) break;
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
