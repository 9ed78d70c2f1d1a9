#!/bin/sh
# Hands the secrets that compose mounts below /run/secrets to Spark and Airflow, then becomes the command. None of them is ever on a
# command line: Spark reads its own from a file in memory, Airflow from its environment.
set -eu
umask 077

secret() {
  if [ ! -s "/run/secrets/$1" ]; then
    echo "the secret $1 is missing or empty; docker/new-secrets.sh makes all of them" >&2
    exit 1
  fi
  cat "/run/secrets/$1"
}

export SPARK_CONF_DIR=/run/weir/spark
mkdir -p "$SPARK_CONF_DIR"
spark_secret=$(secret spark_secret)
cat > "$SPARK_CONF_DIR/spark-defaults.conf" <<END
spark.authenticate true
spark.authenticate.secret $spark_secret
spark.network.crypto.enabled true
END
unset spark_secret

if [ "${1:-}" = airflow ]; then
  database=$(secret postgres_password)
  export AIRFLOW__DATABASE__SQL_ALCHEMY_CONN="postgresql+psycopg2://airflow:$database@postgres/airflow"
  unset database
  AIRFLOW__CORE__FERNET_KEY=$(secret airflow_fernet_key)
  AIRFLOW__API__SECRET_KEY=$(secret airflow_secret_key)
  AIRFLOW__API_AUTH__JWT_SECRET=$(secret airflow_jwt_secret)
  export AIRFLOW__CORE__FERNET_KEY AIRFLOW__API__SECRET_KEY AIRFLOW__API_AUTH__JWT_SECRET
  # Airflow opens the file for writing, and a mounted secret cannot be written.
  export AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE=/run/weir/passwords.json
  secret airflow_passwords > "$AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE"
fi

umask 022
exec "$@"
