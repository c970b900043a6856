// SPDX-License-Identifier: Apache-2.0
//
// Feeds any bytes as a message to a rank, as one to a coordinator, and as a report. An accepted
// message is written so that it reads the same; a refused one is an error of kind PeerLost, because
// messages come from the network.
#include <google/protobuf/stubs/logging.h>

#include <cstring>

#include "harness/ranks/control_messages.h"
#include "harness/ranks/incoming_variables.h"
#include "kernels/base/error.h"

namespace regatta::ranks {
namespace {

constexpr int kRank = 3;

/// The messages in which a report is sent.
std::vector<control::BytesPiece> pieces_of(const run::TrainingReport& report) {
  std::vector<control::BytesPiece> pieces;
  send_report(report,
              [&](const control::FromRank& message) { pieces.push_back(message.report_piece()); });
  return pieces;
}

void require_sound(const run::TrainingReport& report) {
  for (const run::RankedWorker& worker : report.workers) {
    check(worker.rank == kRank, "a rank reports of itself");
    check(worker.report.place.role <= kLastRole, "a worker has a role");
  }
  for (const run::LoopHistory& loop : report.loops) {
    check(loop.losses.empty() || loop.losses.size() == loop.examples.size(), "a loss is a step's");
  }
  const std::vector<control::BytesPiece> pieces = pieces_of(report);
  check(pieces.size() == 1 && pieces[0].last(), "a report of a small message is small");
  const std::optional<run::TrainingReport> again = ReportReader().take(pieces[0], kRank);
  check(again && pieces_of(*again)[0].data() == pieces[0].data(),
        "a report is read as it was written");
}

void read(const control::BytesPiece& piece) {
  std::optional<run::TrainingReport> report;
  try {
    report = ReportReader().take(piece, kRank);
  } catch (const RunError& error) {
    check(error.kind() == ErrorKind::PeerLost, "who sends what is no report is lost");
    return;
  }
  if (report) require_sound(*report);
}

void read_as_trace(const control::BytesPiece& piece) {
  try {
    const std::optional<ProcessTrace> trace = TraceReader().take(piece, kRank);
    if (!trace) return;
    check(trace->rank == kRank, "a rank traces itself");
    send_trace(*trace, [&](const control::FromRank& message) {
      const std::optional<ProcessTrace> again = TraceReader().take(message.trace_piece(), kRank);
      check(again.has_value(), "a trace is read as it was written");
    });
  } catch (const RunError& error) {
    check(error.kind() == ErrorKind::PeerLost, "who sends what is no trace is lost");
  }
}

/// A process whose part has two variables, of 8 and 4 bytes.
std::vector<Step> parts() {
  Step part;
  part.graph.add(Variable{.name = "weight", .type = {.dims = {2}}});
  part.graph.add(Variable{.name = "bias", .type = {.dims = {1}}});
  return {part};
}

void read(const control::Piece& piece) {
  static const std::vector<Step> kParts = parts();
  IncomingVariables incoming(kParts);
  const run::VariableCopy first = incoming.expect(0, 0);
  incoming.expect(0, 1);
  if (!incoming.take(0, piece)) return;
  const std::string& data = piece.data();
  check(piece.variable() == 0 && piece.offset() == 0 && data.size() <= 8, "a piece fits");
  check(std::memcmp(first.tensor.data, data.data(), data.size()) == 0, "a piece is kept");
  check(!incoming.take(0, piece), "a piece is taken once");
}

void read(const control::FromRank& message) {
  read(message.report_piece());
  read_as_trace(message.trace_piece());
  read(message.piece());
  kind_of(message.trouble());
  control::Join again;
  set_fingerprint(again, fingerprint_in(message.join()));
  check(fingerprint_in(again) == fingerprint_in(message.join()),
        "a fingerprint is read as it was written");
}

void read(const control::ToRank& message) {
  control::BeginAt known, again;  // only the fields that this program knows
  set_positions(known, positions_in(message.begin_at()));
  set_positions(again, positions_in(known));
  check(known.loops_size() == message.begin_at().loops_size(), "each loop has its position");
  check(again.SerializeAsString() == known.SerializeAsString(),
        "positions are read as they were written");
}

/// Fails if protobuf logs, because a peer's messages must not fill a log.
void refuse_to_log(google::protobuf::LogLevel, const char* /*file*/, int /*line*/,
                   const std::string& /*message*/) {
  check(false, "protobuf prints nothing of what a peer sends");
}

}  // namespace
}  // namespace regatta::ranks

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace control = regatta::control;
  [[maybe_unused]] static const auto kLog =
      google::protobuf::SetLogHandler(regatta::ranks::refuse_to_log);
  if (control::FromRank message; message.ParseFromArray(data, static_cast<int>(size))) {
    regatta::ranks::read(message);
  }
  if (control::ToRank message; message.ParseFromArray(data, static_cast<int>(size))) {
    regatta::ranks::read(message);
  }
  control::BytesPiece piece;
  piece.set_data(data, size);
  piece.set_last(true);
  regatta::ranks::read(piece);
  regatta::ranks::read_as_trace(piece);
  return 0;
}
