// SPDX-License-Identifier: Apache-2.0
//
// The command line. Each flag is declared once, with its type, default, unit and help; the parser,
// the help and the record use this declaration. For an unknown flag or value the error names the
// most similar valid one.
#pragma once

#include <string>
#include <vector>

#include "harness/export/export.h"
#include "harness/judge/compare.h"
#include "harness/judge/report.h"
#include "harness/matrix/matrix.h"
#include "harness/plan/race_request.h"
#include "harness/simulate/calibrate.h"

namespace regatta::cli {

enum class GraphFormat { Text, Dot, Chakra };
enum class ListFormat { Text, Json };

/// A parsed command line.
struct Command {
  enum class Kind {
    Run,
    Matrix,
    Report,
    Compare,
    Export,
    List,
    Graph,
    Calibrate,
    Plan,
    Doctor,
    Dump,
    Start,
    Nothing
  };
  Kind kind = Kind::Nothing;
  plan::RaceRequest request;  ///< for run, graph, calibrate, plan and dump
  std::string out = "out";    ///< for run: the folder of records.jsonl
  std::string dumped;         ///< for dump: its folder
  matrix::MatrixRequest matrix;
  judge::ReportRequest report;
  judge::CompareRequest compare;
  exports::ExportRequest exported;
  simulate::CalibrateRequest calibrate;
  std::string memory;  ///< for plan: of a worker; empty: no limit
  std::string what;    ///< for list: workloads, strategies, tiers or devices; empty: all
  ListFormat list_format = ListFormat::Text;
  GraphFormat format = GraphFormat::Text;
  std::string traces;  ///< for graph: new folder for a format with several files
  std::string after;   ///< for graph: the pass whose graph is shown
  enum class GraphShows { Graph, Passes };
  GraphShows shows = GraphShows::Graph;
};

/// Parses the command line; prints help and version itself. Throws: RunError(Usage).
Command parse_command_line(int argc, const char* const* argv);

/// The commands that a new user may begin with, printed if no command is given.
extern const char* const kFirstCommands;

}  // namespace regatta::cli
