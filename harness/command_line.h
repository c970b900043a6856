// SPDX-License-Identifier: Apache-2.0
//
// The command line. Each flag is declared once, with its type, default, unit and help; parser, help
// and record follow from that. An unknown flag or value is an error that names the nearest valid
// one.
#pragma once

#include <string>
#include <vector>

#include "harness/export/export.h"
#include "harness/judge/compare.h"
#include "harness/judge/report.h"
#include "harness/matrix/matrix.h"
#include "harness/plan/race_request.h"
#include "harness/simulate/calibrate.h"

namespace regatta {

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
    Doctor,
    Start,
    Nothing
  };
  Kind kind = Kind::Nothing;
  RaceRequest request;      ///< run, graph, calibrate
  std::string out = "out";  ///< run: folder of records.jsonl
  MatrixRequest matrix;
  ReportRequest report;
  CompareRequest compare;
  ExportRequest exported;
  CalibrateRequest calibrate;
  std::string what;  ///< list: workloads, strategies, tiers, devices; empty: all
  ListFormat list_format = ListFormat::Text;
  GraphFormat format = GraphFormat::Text;
  std::string traces;  ///< graph: new folder for a format of several files
};

/// Parses the command line; prints help and version itself. Throws: RunError(Usage).
Command parse_command_line(int argc, const char* const* argv);

/// The commands to begin with, printed if none is given.
extern const char* const kFirstCommands;

}  // namespace regatta
