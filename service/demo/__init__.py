"""What `make demo` does once the environments are there: deliveries of sample files through the retail DAG,
one of them defective.
"""
