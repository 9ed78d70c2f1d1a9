"""What a Spark session stands on: Java, the Delta jars, the settings."""
