#!/bin/sh
# Puts what Spark and Airflow read of the secrets into files in memory, then becomes the command. Where those files are is said in
# docker-compose.yml, so that a command by `docker compose exec`, which does not come by here, finds them as well. No secret is ever on a
# command line or in the environment of a process.
set -eu
umask 077

secret() {
  if [ ! -s "/run/secrets/$1" ]; then
    echo "the secret $1 is missing or empty; docker/new-secrets.sh makes all of them" >&2
    exit 1
  fi
  cat "/run/secrets/$1"
}

mkdir -p /run/weir/spark
spark_secret=$(secret spark_secret)
cat > /run/weir/spark/spark-defaults.conf <<END
spark.authenticate true
spark.authenticate.secret $spark_secret
spark.network.crypto.enabled true
END
unset spark_secret

# What Spark has left on the disk of this service when it was killed. Another command in the same service leaves it alone.
case "$*" in
  *"-m service scheduler" | *org.apache.spark.deploy.worker.Worker*)
    rm -rf "${SPARK_LOCAL_DIRS:?}"
    mkdir -p "$SPARK_LOCAL_DIRS"
    ;;
esac

# The scheduler is started by Weir's own service, which knows the loads.
if [ "${1:-}" = airflow ] || [ "${3:-}" = service ]; then
  password=$(secret postgres_password)
  printf 'postgresql+psycopg2://airflow:%s@postgres/airflow' "$password" > /run/weir/database_url
  unset password
  for name in airflow_fernet_key airflow_secret_key airflow_jwt_secret; do secret "$name" > /dev/null; done
  # Airflow opens the file for writing, and a mounted secret cannot be written.
  secret airflow_passwords > /run/weir/passwords.json
  export AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS="admin:admin${WEIR_USERS:+,$WEIR_USERS}"
  for user in $(echo "$AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS" | tr ',' ' '); do
    # Airflow would make one at every start, and write it into its log.
    if ! grep -qF "\"${user%%:*}\":" /run/weir/passwords.json; then
      echo "the user ${user%%:*} has no password; docker/new-secrets.sh makes those of all users in .env" >&2
      exit 1
    fi
  done
fi

umask 022
exec "$@"
