/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells Regatta of a training in C or C++, so that your program can race. Include it in one file.
 *
 *   regatta_ready("mine", "version", "1.2");          set-up ends, both clocks start
 *   regatta_step(examples_so_far, loss);
 *   regatta_evaluate_begin(); ...; regatta_evaluate(accuracy_in_percent);
 *   regatta_done();
 *
 * One process tells, such as rank 0. Without Regatta the lines go to standard output.
 * harness/contender/README.md has the protocol. Not for several threads at once.
 */
#ifndef REGATTA_CONTENDER_H
#define REGATTA_CONTENDER_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static inline void regatta_tell(const char* format, ...) {
  static FILE* file = NULL;
  const char* path = getenv("REGATTA_PIPE_PATH"); /* also where descriptors are not inherited */
  va_list values;
  if (file == NULL && path != NULL) file = fopen(path, "w");
  if (file == NULL) file = stdout;
  va_start(values, format);
  vfprintf(file, format, values);
  va_end(values);
  fflush(file);
}

/* The texts have no quotes and no backslashes. */
static inline void regatta_ready(const char* framework, const char* library, const char* version) {
  regatta_tell("{\"event\": \"ready\", \"framework\": \"%s\", \"versions\": {\"%s\": \"%s\"}}\n",
               framework, library, version);
}

/* `examples`: in total since regatta_ready(). A loss that is not finite ends the run. */
static inline void regatta_step(long long examples, double loss) {
  regatta_tell("{\"event\": \"step\", \"examples\": %lld, \"loss\": %.17g}\n", examples, loss);
}

/* Stops the training clock, until regatta_evaluate(). */
static inline void regatta_evaluate_begin(void) {
  regatta_tell("{\"event\": \"evaluate_begin\"}\n");
}

static inline void regatta_evaluate(double metric) {
  regatta_tell("{\"event\": \"evaluate\", \"metric\": %.17g}\n", metric);
}

static inline void regatta_done(void) { regatta_tell("{\"event\": \"done\"}\n"); }

#endif /* REGATTA_CONTENDER_H */
