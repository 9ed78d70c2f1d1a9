"""What `make demo` does once the environments are there: two deliveries of sample files through the retail DAG, run by Airflow."""
