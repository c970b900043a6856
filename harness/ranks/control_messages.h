// SPDX-License-Identifier: Apache-2.0
//
// Between messages of the control service and what they stand for. What comes from another process
// is checked where it is read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/fingerprint.h"
#include "harness/ranks/control.pb.h"
#include "harness/run/trainer.h"
#include "kernels/graph/error.h"

namespace regatta {

void set_fingerprint(control::Join& join, const Fingerprint& fingerprint);
Fingerprint fingerprint_in(const control::Join& join);

/// A variable in pieces of bounded size, in order.
void send_pieces(VariableId id, const VariableCopy& copy,
                 const std::function<void(control::Piece)>& send);

void set_positions(control::BeginAt& message, const Positions& positions);
Positions positions_in(const control::BeginAt& message);

/// The report of one process in messages of bounded size.
void send_report(const TrainingReport& report,
                 const std::function<void(const control::FromRank&)>& send);

/// Puts the messages of a report together.
class ReportReader {
 public:
  /// Returns the report of `rank` with its last piece.
  /// Throws: RunError(PeerLost) where the bytes are no report, or too many.
  std::optional<TrainingReport> take(const control::ReportPiece& piece, int rank);

 private:
  std::string bytes_;
};

/// The error that a rank reports, by its kind's name; PeerLost for a kind that is none.
ErrorKind kind_of(const control::Trouble& trouble);

}  // namespace regatta
