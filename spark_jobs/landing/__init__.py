"""Landing: finds new files and registers them as arrivals, without a JVM."""
