// SPDX-License-Identifier: Apache-2.0
//
// The table for a library whose handles are all of type `Handle`: an address in Open MPI, an int
// in MPICH. Signatures: MPI 4.0, annex A.2. Only open_mpi.cpp and mpich.cpp include this file.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels/base/error.h"
#include "kernels/comm/collective/element_sums.h"
#include "kernels/comm/mpi/mpi_table.h"

namespace regatta::comm {

/// The address of a symbol of the library. Throws: RunError(Unsupported) if there is none.
inline void* mpi_symbol(void* library, const char* name) {
  if (void* found = dlsym(library, name)) return found;
  throw RunError(ErrorKind::Unsupported, std::string("it lacks ") + name);
}

/// The constants of a library's mpi.h.
template <typename Handle>
struct MpiConstants {
  Handle world, request_null, info_null, errors_return;  // MPI_COMM_WORLD, ...
  Handle byte, int64, uint16, f32;
  Handle min, sum;
  void* in_place = nullptr;
  void* status_ignore = nullptr;
  int comm_type_shared = 0;
  int tag_ub = 0;
};

template <typename Handle>
class MpiTableOf final : public MpiTable {
 public:
  MpiTableOf(void* library, const MpiConstants<Handle>& constants)
      : library_(library), is_(constants) {}

  int init(bool& allowed) override {
    constexpr int kMultiple = 3;  // MPI_THREAD_MULTIPLE, in both libraries
    int provided = 0;
    const int code = init_thread_(nullptr, nullptr, kMultiple, &provided);
    allowed = provided >= kMultiple;
    return code;
  }
  int finalize() override { return finalize_(); }
  std::string error_text(int code) override {
    return text_of([&](char* text, int* length) { error_string_(code, text, length); });
  }
  std::string library_version() override {
    return text_of([&](char* text, int* length) { get_library_version_(text, length); });
  }

  MpiComm world() override { return as<MpiComm>(is_.world); }
  int return_errors(MpiComm comm) override { return set_errhandler_(of(comm), is_.errors_return); }
  int comm_rank(MpiComm comm, int& rank) override { return comm_rank_(of(comm), &rank); }
  int comm_size(MpiComm comm, int& size) override { return comm_size_(of(comm), &size); }
  int comm_dup(MpiComm comm, MpiComm& copy) override {
    return with(copy, [&](Handle* handle) { return comm_dup_(of(comm), handle); });
  }
  int comm_split_shared(MpiComm comm, int key, MpiComm& part) override {
    return with(part, [&](Handle* handle) {
      return split_type_(of(comm), is_.comm_type_shared, key, is_.info_null, handle);
    });
  }
  int comm_create_group(MpiComm comm, const std::vector<int>& ranks, int tag,
                        MpiComm& part) override {
    Handle all{};
    Handle members{};
    if (const int code = comm_group_(of(comm), &all)) return code;
    int code = group_incl_(all, static_cast<int>(ranks.size()), ranks.data(), &members);
    if (code == 0) {
      code =
          with(part, [&](Handle* handle) { return create_group_(of(comm), members, tag, handle); });
      group_free_(&members);
    }
    group_free_(&all);
    return code;
  }
  int highest_tag(MpiComm comm, int& tag) override {
    int* highest = nullptr;
    int found = 0;
    const int code = get_attr_(of(comm), is_.tag_ub, &highest, &found);
    if (code == 0 && found != 0) tag = *highest;
    return code;
  }

  int barrier(MpiComm comm) override { return barrier_(of(comm)); }
  int bcast(void* data, int bytes, int from, MpiComm comm) override {
    return bcast_(data, bytes, is_.byte, from, of(comm));
  }
  int allgather(const void* own, int bytes, void* all, MpiComm comm) override {
    return allgather_(own, bytes, is_.byte, all, bytes, is_.byte, of(comm));
  }
  int allreduce(void* data, int count, MpiReduction reduction, MpiComm comm) override {
    return allreduce_(is_.in_place, data, count, type_of(reduction), operation_of(reduction),
                      of(comm));
  }
  int iallreduce(void* data, int count, MpiReduction reduction, MpiComm comm,
                 MpiRequest& request) override {
    return with(request, [&](Handle* handle) {
      return iallreduce_(is_.in_place, data, count, type_of(reduction), operation_of(reduction),
                         of(comm), handle);
    });
  }

  int send(const void* data, int bytes, int to, int tag, MpiComm comm) override {
    return send_(data, bytes, is_.byte, to, tag, of(comm));
  }
  int recv(void* data, int bytes, int from, int tag, MpiComm comm) override {
    return recv_(data, bytes, is_.byte, from, tag, of(comm), is_.status_ignore);
  }
  int iprobe(int from, int tag, MpiComm comm, bool& came) override {
    return flagged(
        came, [&](int* flag) { return iprobe_(from, tag, of(comm), flag, is_.status_ignore); });
  }
  int isend(const void* data, int bytes, int to, int tag, MpiComm comm,
            MpiRequest& request) override {
    return with(request, [&](Handle* handle) {
      return isend_(data, bytes, is_.byte, to, tag, of(comm), handle);
    });
  }
  int irecv(void* data, int bytes, int from, int tag, MpiComm comm, MpiRequest& request) override {
    return with(request, [&](Handle* handle) {
      return irecv_(data, bytes, is_.byte, from, tag, of(comm), handle);
    });
  }
  int improbe(int from, int tag, MpiComm comm, bool& came, MpiMessage& message,
              int& bytes) override {
    Status status;
    const int code = with(message, [&](Handle* handle) {
      return flagged(
          came, [&](int* flag) { return improbe_(from, tag, of(comm), flag, handle, &status); });
    });
    return code != 0 || !came ? code : get_count_(&status, is_.byte, &bytes);
  }
  int imrecv(void* data, int bytes, MpiMessage& message, MpiRequest& request) override {
    return with(message, [&](Handle* from) {
      return with(request,
                  [&](Handle* handle) { return imrecv_(data, bytes, is_.byte, from, handle); });
    });
  }
  int mrecv(void* data, int bytes, MpiMessage& message) override {
    return with(message, [&](Handle* from) {
      return mrecv_(data, bytes, is_.byte, from, is_.status_ignore);
    });
  }

  int test(MpiRequest& request, bool& done) override {
    return with(request, [&](Handle* handle) {
      return flagged(done, [&](int* flag) { return test_(handle, flag, is_.status_ignore); });
    });
  }
  int cancel(MpiRequest& request) override {
    return with(request, [&](Handle* handle) { return cancel_(handle); });
  }
  int request_free(MpiRequest& request) override {
    return with(request, [&](Handle* handle) { return request_free_(handle); });
  }

 private:
  template <typename Call>
  static std::string text_of(const Call& call) {
    std::array<char, 8192> text{};  // the longest in both libraries: MPICH's version
    int length = 0;
    call(text.data(), &length);
    return text.data();
  }

  /// Room for either library's MPI_Status: 24 bytes in Open MPI, 20 in MPICH.
  struct Status {
    std::array<std::int64_t, 8> words{};
  };

  /// An address that converts to a pointer to any function.
  struct Address {
    void* address;
    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  Address load(const char* name) const { return {mpi_symbol(library_, name)}; }

  /// A handle in the other representation: the same low bytes.
  template <typename To, typename From>
  static To as(From from) {
    static_assert(std::endian::native == std::endian::little);
    To to{};
    std::memcpy(&to, &from, std::min(sizeof(to), sizeof(from)));
    return to;
  }
  template <typename Ours>
  Handle of(Ours ours) const {
    const bool none = std::is_same_v<Ours, MpiRequest> && ours == Ours{};
    return none ? is_.request_null : as<Handle>(ours);
  }

  /// Calls a function that may change a handle.
  template <typename Ours, typename Call>
  int with(Ours& ours, const Call& call) const {
    Handle handle = of(ours);
    const int code = call(&handle);
    const bool none = std::is_same_v<Ours, MpiRequest> && handle == is_.request_null;
    ours = none ? Ours{} : as<Ours>(handle);
    return code;
  }
  template <typename Call>
  static int flagged(bool& flag, const Call& call) {
    int number = 0;
    const int code = call(&number);
    flag = number != 0;
    return code;
  }

  static void add_bf16(void* part, void* sum, int* count, Handle* /*type*/) {
    add_elements(ElementType::BF16, sum, part, *count);
  }
  Handle type_of(MpiReduction reduction) const {
    if (reduction == MpiReduction::LeastI64) return is_.int64;
    return reduction == MpiReduction::SumF32 ? is_.f32 : is_.uint16;
  }
  /// The sum of bf16 is made once and kept until MPI_Finalize.
  Handle operation_of(MpiReduction reduction) const {
    if (reduction == MpiReduction::LeastI64) return is_.min;
    if (reduction == MpiReduction::SumF32) return is_.sum;
    static const Handle sum = [this] {
      constexpr int kCommutes = 1;
      Handle operation{};
      check(op_create_(add_bf16, kCommutes, &operation) == 0, "MPI makes an operation");
      return operation;
    }();
    return sum;
  }

  void* library_;
  MpiConstants<Handle> is_;
  int (*init_thread_)(int*, char***, int, int*) = load("MPI_Init_thread");
  int (*finalize_)() = load("MPI_Finalize");
  int (*error_string_)(int, char*, int*) = load("MPI_Error_string");
  int (*get_library_version_)(char*, int*) = load("MPI_Get_library_version");
  int (*set_errhandler_)(Handle, Handle) = load("MPI_Comm_set_errhandler");
  int (*comm_rank_)(Handle, int*) = load("MPI_Comm_rank");
  int (*comm_size_)(Handle, int*) = load("MPI_Comm_size");
  int (*comm_dup_)(Handle, Handle*) = load("MPI_Comm_dup");
  int (*split_type_)(Handle, int, int, Handle, Handle*) = load("MPI_Comm_split_type");
  int (*comm_group_)(Handle, Handle*) = load("MPI_Comm_group");
  int (*group_incl_)(Handle, int, const int*, Handle*) = load("MPI_Group_incl");
  int (*group_free_)(Handle*) = load("MPI_Group_free");
  int (*create_group_)(Handle, Handle, int, Handle*) = load("MPI_Comm_create_group");
  int (*get_attr_)(Handle, int, void*, int*) = load("MPI_Comm_get_attr");
  int (*barrier_)(Handle) = load("MPI_Barrier");
  int (*bcast_)(void*, int, Handle, int, Handle) = load("MPI_Bcast");
  int (*allgather_)(const void*, int, Handle, void*, int, Handle, Handle) = load("MPI_Allgather");
  int (*allreduce_)(const void*, void*, int, Handle, Handle, Handle) = load("MPI_Allreduce");
  int (*iallreduce_)(const void*, void*, int, Handle, Handle, Handle,
                     Handle*) = load("MPI_Iallreduce");
  int (*op_create_)(void (*)(void*, void*, int*, Handle*), int, Handle*) = load("MPI_Op_create");
  int (*send_)(const void*, int, Handle, int, int, Handle) = load("MPI_Send");
  int (*recv_)(void*, int, Handle, int, int, Handle, void*) = load("MPI_Recv");
  int (*iprobe_)(int, int, Handle, int*, void*) = load("MPI_Iprobe");
  int (*isend_)(const void*, int, Handle, int, int, Handle, Handle*) = load("MPI_Isend");
  int (*irecv_)(void*, int, Handle, int, int, Handle, Handle*) = load("MPI_Irecv");
  int (*improbe_)(int, int, Handle, int*, Handle*, void*) = load("MPI_Improbe");
  int (*get_count_)(const void*, Handle, int*) = load("MPI_Get_count");
  int (*imrecv_)(void*, int, Handle, Handle*, Handle*) = load("MPI_Imrecv");
  int (*mrecv_)(void*, int, Handle, Handle*, void*) = load("MPI_Mrecv");
  int (*test_)(Handle*, int*, void*) = load("MPI_Test");
  int (*cancel_)(Handle*) = load("MPI_Cancel");
  int (*request_free_)(Handle*) = load("MPI_Request_free");
};

}  // namespace regatta::comm
