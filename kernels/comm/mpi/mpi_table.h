// SPDX-License-Identifier: Apache-2.0
//
// The functions of MPI that this room calls: one table for all MPI libraries, because each library
// has its own binary interface (open_mpi.cpp, mpich.cpp). Functions return MPI's error codes, which
// mpi_call.h checks. Messages are bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace regatta::comm {

/// Handles, as the library represents them. Zero: none.
enum class MpiComm : std::uintptr_t {};
enum class MpiRequest : std::uintptr_t {};
enum class MpiMessage : std::uintptr_t {};

/// The reductions that are used, each of one type.
enum class MpiReduction : std::uint8_t { LeastI64, SumF32, SumBf16 };

class MpiTable {
 public:
  virtual ~MpiTable() = default;

  /// Calls MPI_Init_thread with MPI_THREAD_MULTIPLE. Sets `allowed` to whether MPI grants it.
  virtual int init(bool& allowed) = 0;
  virtual int finalize() = 0;
  virtual std::string error_text(int code) = 0;
  virtual std::string library_version() = 0;

  virtual MpiComm world() = 0;
  /// Makes errors in `comm` return codes.
  virtual int return_errors(MpiComm comm) = 0;
  virtual int comm_rank(MpiComm comm, int& rank) = 0;
  virtual int comm_size(MpiComm comm, int& size) = 0;
  virtual int comm_dup(MpiComm comm, MpiComm& made) = 0;
  /// Makes the communicator of the ranks that share a host.
  virtual int comm_split_shared(MpiComm comm, int key, MpiComm& made) = 0;
  virtual int comm_create_group(MpiComm comm, const std::vector<int>& ranks, int tag,
                                MpiComm& made) = 0;
  virtual int highest_tag(MpiComm comm, int& tag) = 0;

  virtual int barrier(MpiComm comm) = 0;
  virtual int bcast(void* data, int bytes, int from, MpiComm comm) = 0;
  virtual int allgather(const void* own, int bytes, void* all, MpiComm comm) = 0;
  /// Reduces in place, like iallreduce().
  virtual int allreduce(void* data, int count, MpiReduction reduction, MpiComm comm) = 0;
  virtual int iallreduce(void* data, int count, MpiReduction reduction, MpiComm comm,
                         MpiRequest& request) = 0;

  virtual int send(const void* data, int bytes, int to, int tag, MpiComm comm) = 0;
  virtual int recv(void* data, int bytes, int from, int tag, MpiComm comm) = 0;
  virtual int iprobe(int from, int tag, MpiComm comm, bool& came) = 0;
  virtual int isend(const void* data, int bytes, int to, int tag, MpiComm comm,
                    MpiRequest& request) = 0;
  virtual int irecv(void* data, int bytes, int from, int tag, MpiComm comm,
                    MpiRequest& request) = 0;
  /// Takes a message off the queue if one has arrived; `bytes` is its size.
  virtual int improbe(int from, int tag, MpiComm comm, bool& came, MpiMessage& message,
                      int& bytes) = 0;
  virtual int imrecv(void* data, int bytes, MpiMessage& message, MpiRequest& request) = 0;
  virtual int mrecv(void* data, int bytes, MpiMessage& message) = 0;

  /// Tests a request: a completed one becomes none, and none counts as completed.
  virtual int test(MpiRequest& request, bool& done) = 0;
  virtual int cancel(MpiRequest& request) = 0;
  virtual int request_free(MpiRequest& request) = 0;
};

}  // namespace regatta::comm
