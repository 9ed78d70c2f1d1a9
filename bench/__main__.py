"""`make bench`: all benchmarks, one after the other. They want a quiet machine; compare ratios, not seconds."""

from bench import full_load, increment, kafka, late_row, latency, parse, quality, small_files, state

parse.main()
increment.main()
full_load.main()
late_row.main()
quality.main()
state.main()
kafka.main()
latency.main()
small_files.main()
