"""`make bench`: all benchmarks, one after the other. They want a quiet machine; compare ratios, not seconds."""

from bench import full_load, increment, kafka, late_row, latency, nested_load, parse, quality, questions, small_files, state

parse.main()
increment.main()
questions.main()
full_load.main()
nested_load.main()
late_row.main()
quality.main()
state.main()
kafka.main()
latency.main()
small_files.main()
