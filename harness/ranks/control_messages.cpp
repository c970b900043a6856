// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/control_messages.h"

#include <algorithm>
#include <utility>

#include "harness/ranks/control_protocol.h"
#include "harness/run/merge_reports.h"
#include "harness/system/bytes.h"
#include "kernels/graph/error.h"

namespace regatta {

void set_fingerprint(control::Join& join, const Fingerprint& fingerprint) {
  for (const auto& [name, value] : fingerprint) {
    control::Line& line = *join.add_fingerprint();
    line.set_name(name);
    line.set_value(value);
  }
}

Fingerprint fingerprint_in(const control::Join& join) {
  Fingerprint fingerprint;
  for (const control::Line& line : join.fingerprint()) {
    fingerprint.emplace_back(line.name(), line.value());
  }
  return fingerprint;
}

void send_pieces(VariableId id, const VariableCopy& copy,
                 const std::function<void(control::Piece)>& send) {
  const std::int64_t bytes = copy.tensor.type.bytes();
  for (std::int64_t offset = 0; offset < bytes; offset += kPieceBytes) {
    control::Piece piece;
    piece.set_variable(id);
    piece.set_offset(offset);
    piece.set_data(copy.tensor.as<char>() + offset,
                   static_cast<std::size_t>(std::min(kPieceBytes, bytes - offset)));
    piece.set_version(copy.version);
    send(std::move(piece));
  }
}

void set_positions(control::BeginAt& message, const Positions& positions) {
  message.set_steps(positions.steps);
  message.set_examples(positions.examples);
  for (const LoopPosition& position : positions.loops) {
    control::LoopPosition& loop = *message.add_loops();
    loop.set_number(position.number);
    loop.set_steps(position.steps);
    loop.set_last_examples(position.last_examples);
  }
}

Positions positions_in(const control::BeginAt& message) {
  Positions positions{.loops = {}, .steps = message.steps(), .examples = message.examples()};
  for (const control::LoopPosition& loop : message.loops()) {
    positions.loops.push_back(
        {.number = loop.number(), .steps = loop.steps(), .last_examples = loop.last_examples()});
  }
  return positions;
}

void send_report(const TrainingReport& report,
                 const std::function<void(const control::FromRank&)>& send) {
  constexpr auto kPiece = static_cast<std::size_t>(kPieceBytes);
  const std::string bytes = bytes_of(report);
  for (std::size_t begin = 0; begin < bytes.size(); begin += kPiece) {
    control::FromRank message;
    message.mutable_report_piece()->set_data(bytes.substr(begin, kPiece));
    message.mutable_report_piece()->set_last(begin + kPiece >= bytes.size());
    send(message);
  }
}

std::optional<TrainingReport> ReportReader::take(const control::ReportPiece& piece, int rank) {
  if (piece.data().size() > kMostReportBytes - bytes_.size()) {
    throw RunError(ErrorKind::PeerLost, "its report is too long");
  }
  bytes_ += piece.data();
  if (!piece.last()) return std::nullopt;
  const std::string bytes = std::exchange(bytes_, {});
  TrainingReport report;
  try {
    report = value_in<TrainingReport>(bytes);
    require_whole(report);
  } catch (const RunError& error) {
    throw RunError(ErrorKind::PeerLost, std::string("its report is damaged: ") + error.what());
  }
  for (RankedWorker& worker : report.workers) worker.rank = rank;
  if (!report.clocks.empty()) report.clocks = {{rank, report.clocks.begin()->second}};
  return report;
}

ErrorKind kind_of(const control::Trouble& trouble) {
  for (ErrorKind kind : {ErrorKind::Usage, ErrorKind::Data, ErrorKind::Diverged, ErrorKind::Timeout,
                         ErrorKind::Unsupported, ErrorKind::Io, ErrorKind::Device}) {
    if (trouble.kind() == to_string(kind)) return kind;
  }
  return ErrorKind::PeerLost;
}

}  // namespace regatta
