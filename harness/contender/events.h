// SPDX-License-Identifier: Apache-2.0
//
// The lines by which a program tells of its training: JSON on a pipe, or MLPerf's log on its
// output. README.md lists them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/record/record.h"

namespace regatta::contender {

enum class EventKind : std::uint8_t { Proof, Ready, Step, EvaluateBegin, Evaluate, Done };

/// Returns the event's name in JSON: `evaluate_begin`.
const char* to_string(EventKind kind);

struct Event {
  EventKind kind = EventKind::Done;
  std::int64_t at_ns = 0;                ///< on Regatta's clock
  std::optional<std::int64_t> examples;  ///< trained on so far
  std::optional<double> loss;
  std::optional<double> metric;
  std::optional<double> epoch;    ///< if the program counts them
  record::ProgramRecord program;  ///< of Ready
  std::string json;               ///< of Proof: its line
};

/// Parses a line of JSON. Throws: RunError(Program) if it is no event, RunError(Diverged) if a
/// number is not finite.
Event parse_event(const std::string& line, std::int64_t at_ns);

/// Translates lines of MLPerf's log. An evaluation is known once its accuracy and its end are
/// there, in any order.
class MllogReader {
 public:
  /// `metric`: `accuracy`, which the log has as a share, or `loss`.
  explicit MllogReader(std::string metric) : metric_(std::move(metric)) {}

  /// Returns the line's event; empty for another line. Throws: as parse_event() does.
  std::optional<Event> take(const std::string& line, std::int64_t at_ns);

 private:
  struct Entry;
  std::optional<std::int64_t> examples_of(const Entry& entry) const;
  std::optional<Event> evaluation(const Entry& entry, std::int64_t at_ns);

  std::string metric_;
  std::optional<double> train_samples_;
  bool evaluates_ = false;                ///< since eval_start
  std::optional<std::int64_t> ended_ns_;  ///< time of eval_stop, if it came before the accuracy
  std::optional<Event> evaluation_;       ///< an accuracy that came before eval_stop
};

}  // namespace regatta::contender
