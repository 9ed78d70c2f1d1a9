"""Airflow on this machine: `make up` starts its four processes, `make down` ends them with all that they
started.
"""
