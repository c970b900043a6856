// SPDX-License-Identifier: Apache-2.0
#include "kernels/comm/grpc/grpc_hello.h"

#include <charconv>
#include <map>

#include "kernels/comm/grpc/frame.h"

namespace regatta::comm {
namespace {

constexpr const char* kVersionKey = "regatta-protocol";
constexpr const char* kRunKey = "regatta-run";
constexpr const char* kTokenKey = "regatta-token";
constexpr const char* kProcessKey = "regatta-process";
constexpr std::size_t kShownBytes = 40;  // the most of a stranger's text that is quoted

using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

std::string find(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? std::string()
                                 : std::string(found->second.data(), found->second.size());
}

std::string shown(const std::string& text) { return "'" + text.substr(0, kShownBytes) + "'"; }

/// Compares two texts in a time that does not depend on where they differ.
bool same_secret(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

/// Parses a number; -1 if `text` is none.
int number(const std::string& text) {
  int value = -1;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? value : -1;
}

}  // namespace

void say(const RunIdentity& run, std::string_view protocol, grpc::ClientContext& context) {
  context.AddMetadata(kVersionKey, std::string(protocol));
  context.AddMetadata(kRunKey, run.run_id);
  context.AddMetadata(kTokenKey, run.token);
}

grpc::Status check_run(const grpc::ServerContextBase& context, const RunIdentity& run,
                       std::string_view protocol) {
  const Metadata& metadata = context.client_metadata();
  if (const std::string version = find(metadata, kVersionKey); version != protocol) {
    return {grpc::StatusCode::FAILED_PRECONDITION, "protocol version is " + shown(version) +
                                                       ", this process speaks '" +
                                                       std::string(protocol) + "'"};
  }
  if (const std::string run_id = find(metadata, kRunKey); run_id != run.run_id) {
    return {grpc::StatusCode::FAILED_PRECONDITION,
            "run id is " + shown(run_id) + ", this process belongs to another run"};
  }
  if (!same_secret(find(metadata, kTokenKey), run.token)) {
    return {grpc::StatusCode::UNAUTHENTICATED, "the token is not this run's"};
  }
  return grpc::Status::OK;
}

void say(const Hello& hello, grpc::ClientContext& context) {
  say(hello.run, std::to_string(kFrameVersion), context);
  context.AddMetadata(kProcessKey, std::to_string(hello.process));
}

Caller check_caller(const grpc::CallbackServerContext& context, const Hello& own, int processes) {
  const grpc::Status status = check_run(context, own.run, std::to_string(kFrameVersion));
  if (!status.ok()) return {.process = -1, .status = status};
  const std::string process = find(context.client_metadata(), kProcessKey);
  const int caller = number(process);
  if (caller <= own.process || caller >= processes) {
    return {
        .process = -1,
        .status = {grpc::StatusCode::INVALID_ARGUMENT,
                   "process is " + shown(process) + ", must be " + std::to_string(own.process + 1) +
                       " to " + std::to_string(processes - 1)}};
  }
  return {.process = caller, .status = grpc::Status::OK};
}

void answer(const LinkEnds& ends, grpc::CallbackServerContext& context) {
  context.AddInitialMetadata(kRunKey, to_hex(ends.run_id));
  context.AddInitialMetadata(kProcessKey, std::to_string(ends.process));
}

std::string error_in_answer(const grpc::ClientContext& context, const LinkEnds& ends) {
  const Metadata& metadata = context.GetServerInitialMetadata();
  if (find(metadata, kRunKey) != to_hex(ends.run_id)) {
    return "what listens there is no process of this run";
  }
  const std::string process = find(metadata, kProcessKey);
  if (process == std::to_string(ends.peer)) return {};
  return "what listens there is process " + shown(process) + ", not " + std::to_string(ends.peer);
}

std::string words_of(const grpc::Status& status) {
  static const std::map<grpc::StatusCode, std::string_view> kNames = {
      {grpc::StatusCode::CANCELLED, "CANCELLED"},
      {grpc::StatusCode::UNKNOWN, "UNKNOWN"},
      {grpc::StatusCode::INVALID_ARGUMENT, "INVALID_ARGUMENT"},
      {grpc::StatusCode::DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED"},
      {grpc::StatusCode::ALREADY_EXISTS, "ALREADY_EXISTS"},
      {grpc::StatusCode::RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED"},
      {grpc::StatusCode::FAILED_PRECONDITION, "FAILED_PRECONDITION"},
      {grpc::StatusCode::UNIMPLEMENTED, "UNIMPLEMENTED"},
      {grpc::StatusCode::INTERNAL, "INTERNAL"},
      {grpc::StatusCode::UNAVAILABLE, "UNAVAILABLE"},
      {grpc::StatusCode::UNAUTHENTICATED, "UNAUTHENTICATED"}};
  const auto name = kNames.find(status.error_code());
  const std::string code = name == kNames.end() ? "status " + std::to_string(status.error_code())
                                                : std::string(name->second);
  return code + ": " + status.error_message();
}

}  // namespace regatta::comm
