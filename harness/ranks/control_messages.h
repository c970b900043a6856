// SPDX-License-Identifier: Apache-2.0
//
// Conversions between the messages of the control service (control.proto) and this program's types.
// Values that come from another process are checked when they are converted.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/fingerprint.h"
#include "harness/ranks/control.pb.h"
#include "harness/run/trainer.h"
#include "kernels/base/error.h"

namespace regatta::ranks {

void set_fingerprint(control::Join& join, const plan::Fingerprint& fingerprint);
plan::Fingerprint fingerprint_in(const control::Join& join);

/// Sends a variable in pieces of bounded size, in order.
void send_pieces(VariableId id, const run::VariableCopy& copy,
                 const std::function<void(control::Piece)>& send);

void set_positions(control::BeginAt& message, const Positions& positions);
Positions positions_in(const control::BeginAt& message);

/// Sends the report of one process in messages of bounded size.
void send_report(const run::TrainingReport& report,
                 const std::function<void(const control::FromRank&)>& send);

/// Sends the trace of one process in messages of bounded size.
void send_trace(const ProcessTrace& trace,
                const std::function<void(const control::FromRank&)>& send);

/// Assembles bytes from pieces.
class PieceReader {
 public:
  /// Adds a piece. Returns all bytes if this piece is the last; otherwise empty.
  /// Throws: RunError(PeerLost) that names `what`, for example a report, if there are too many.
  std::optional<std::string> take(const control::BytesPiece& piece, const std::string& what);

 private:
  std::string bytes_;
};

/// Assembles a report from its messages.
class ReportReader {
 public:
  /// Adds a piece. Returns the report of `rank` if this piece is its last; otherwise empty.
  /// Throws: RunError(PeerLost) if the bytes are damaged or too many.
  std::optional<run::TrainingReport> take(const control::BytesPiece& piece, int rank);

 private:
  PieceReader bytes_;
};

/// Assembles a trace from its messages.
class TraceReader {
 public:
  /// Adds a piece. Returns the trace of `rank` if this piece is its last; otherwise empty.
  /// Throws: RunError(PeerLost) if the bytes are damaged or too many.
  std::optional<ProcessTrace> take(const control::BytesPiece& piece, int rank);

 private:
  PieceReader bytes_;
};

/// The ErrorKind whose name is in a rank's error message; PeerLost for an unknown name.
ErrorKind kind_of(const control::Trouble& trouble);

}  // namespace regatta::ranks
