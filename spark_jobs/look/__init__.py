"""Looking at tables without a JVM: by name, in SQL, two versions beside each other, and from Python."""
