// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/control_messages.h"

#include <algorithm>
#include <utility>

#include "harness/ranks/control_protocol.h"
#include "harness/run/merge_reports.h"
#include "harness/system/bytes.h"

namespace regatta::ranks {
namespace {

std::vector<control::BytesPiece> pieces_of(const std::string& bytes) {
  constexpr auto kPiece = static_cast<std::size_t>(kPieceBytes);
  std::vector<control::BytesPiece> pieces;
  for (std::size_t begin = 0; begin < bytes.size(); begin += kPiece) {
    pieces.emplace_back().set_data(bytes.substr(begin, kPiece));
    pieces.back().set_last(begin + kPiece >= bytes.size());
  }
  return pieces;
}

/// True if the text needs no escapes in JSON.
bool is_plain(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char each) {
    return each >= ' ' && each <= '~' && each != '"' && each != '\\';
  });
}

/// Checks a trace from another process. Throws: RunError(Data).
void require_whole(const ProcessTrace& trace) {
  bool names_are_plain = is_plain(trace.name);
  for (const TraceRow& row : trace.rows) {
    names_are_plain = names_are_plain && is_plain(row.name);
    for (const TraceLabel& label : row.labels) {
      names_are_plain = names_are_plain && is_plain(label.name) && is_plain(label.category);
    }
    const std::size_t spans = row.label.size();
    if (row.step.size() != spans || row.begin_ns.size() != spans || row.end_ns.size() != spans) {
      throw RunError(ErrorKind::Data, "the histories of a lane differ in length");
    }
    for (std::size_t i = 0; i < spans; ++i) {
      if (row.label[i] >= row.labels.size()) throw RunError(ErrorKind::Data, "a span has no label");
      if (row.end_ns[i] < row.begin_ns[i] || (i > 0 && row.begin_ns[i] < row.end_ns[i - 1])) {
        throw RunError(ErrorKind::Data, "a span begins before the one before it ends");
      }
    }
  }
  if (!names_are_plain) throw RunError(ErrorKind::Data, "a name has characters that none has");
}

}  // namespace

void set_fingerprint(control::Join& join, const plan::Fingerprint& fingerprint) {
  for (const auto& [name, value] : fingerprint) {
    control::Line& line = *join.add_fingerprint();
    line.set_name(name);
    line.set_value(value);
  }
}

plan::Fingerprint fingerprint_in(const control::Join& join) {
  plan::Fingerprint fingerprint;
  for (const control::Line& line : join.fingerprint()) {
    fingerprint.emplace_back(line.name(), line.value());
  }
  return fingerprint;
}

void send_pieces(VariableId id, const run::VariableCopy& copy,
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

void send_report(const run::TrainingReport& report,
                 const std::function<void(const control::FromRank&)>& send) {
  for (control::BytesPiece& piece : pieces_of(system::bytes_of(report))) {
    control::FromRank message;
    *message.mutable_report_piece() = std::move(piece);
    send(message);
  }
}

void send_trace(const ProcessTrace& trace,
                const std::function<void(const control::FromRank&)>& send) {
  for (control::BytesPiece& piece : pieces_of(system::bytes_of(trace))) {
    control::FromRank message;
    *message.mutable_trace_piece() = std::move(piece);
    send(message);
  }
}

std::optional<std::string> PieceReader::take(const control::BytesPiece& piece,
                                             const std::string& what) {
  if (piece.data().size() > kMostReportBytes - bytes_.size()) {
    throw RunError(ErrorKind::PeerLost, "its " + what + " is too long");
  }
  bytes_ += piece.data();
  if (!piece.last()) return std::nullopt;
  return std::exchange(bytes_, {});
}

std::optional<run::TrainingReport> ReportReader::take(const control::BytesPiece& piece, int rank) {
  const std::optional<std::string> bytes = bytes_.take(piece, "report");
  if (!bytes) return std::nullopt;
  run::TrainingReport report;
  try {
    report = system::value_in<run::TrainingReport>(*bytes);
    require_whole(report);
  } catch (const RunError& error) {
    throw RunError(ErrorKind::PeerLost, std::string("its report is damaged: ") + error.what());
  }
  for (run::RankedWorker& worker : report.workers) worker.rank = rank;
  if (!report.clocks.empty()) report.clocks = {{rank, report.clocks.begin()->second}};
  return report;
}

std::optional<ProcessTrace> TraceReader::take(const control::BytesPiece& piece, int rank) {
  const std::optional<std::string> bytes = bytes_.take(piece, "trace");
  if (!bytes) return std::nullopt;
  ProcessTrace trace;
  try {
    trace = system::value_in<ProcessTrace>(*bytes);
    require_whole(trace);
  } catch (const RunError& error) {
    throw RunError(ErrorKind::PeerLost, std::string("its trace is damaged: ") + error.what());
  }
  trace.rank = rank;
  return trace;
}

ErrorKind kind_of(const control::Trouble& trouble) {
  for (ErrorKind kind : {ErrorKind::Usage, ErrorKind::Data, ErrorKind::Diverged, ErrorKind::Timeout,
                         ErrorKind::Unsupported, ErrorKind::Io, ErrorKind::Device}) {
    if (trouble.kind() == to_string(kind)) return kind;
  }
  return ErrorKind::PeerLost;
}

}  // namespace regatta::ranks
