"""What commands need to run Spark: a Java, a session, and an archive of classes so that it starts sooner."""
