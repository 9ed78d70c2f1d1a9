#!/bin/sh
# Makes the secrets of docker-compose.yml in ./secrets and the settings in ./.env, once; what is there stays as it is. Users that are new in
# WEIR_USERS of .env get a password.
# The files can be read by all, as containers have users of their own, but the folder only by its owner.
set -eu
cd "${1:-$(dirname "$0")/..}"

example=$(dirname "$0")/../.env.example
[ -f .env ] || { (umask 077 && cp "$example" .env) && echo "made .env: look it through"; }
mkdir -p secrets
chmod 700 secrets

hexadecimal() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }
keep() {
  if [ ! -s "secrets/$1" ]; then
    printf '%s' "$2" > "secrets/$1"
    chmod 444 "secrets/$1"
    echo "made secrets/$1"
  fi
}

keep postgres_password "$(hexadecimal)"
keep spark_secret "$(hexadecimal)"
keep airflow_secret_key "$(hexadecimal)"
keep airflow_jwt_secret "$(hexadecimal)"
keep airflow_fernet_key "$(head -c 32 /dev/urandom | base64 | tr '+/' '-_')"
keep airflow_passwords "{\"admin\": \"$(hexadecimal | cut -c 1-20)\"}"
keep s3_access_key "$(hexadecimal | cut -c 1-20)"
keep s3_secret_key "$(hexadecimal)"

for user in $(sed -n 's/^WEIR_USERS=//p' .env | tr -d "\"'" | tr ',' ' '); do
  name=${user%%:*}
  case $user in
    *[!A-Za-z0-9._@:-]* | :* | *:*:*) is_written=false ;;
    *:viewer | *:user | *:op | *:admin) is_written=true ;;
    *) is_written=false ;;
  esac
  if [ $is_written = false ]; then
    echo "WEIR_USERS in .env names '$user'; write name:role, as in ada:op,bo:viewer; the roles are viewer, user, op, admin" >&2
    exit 1
  fi
  if ! grep -qF "\"$name\":" secrets/airflow_passwords; then
    kept=$(cat secrets/airflow_passwords)
    printf '%s, "%s": "%s"}' "${kept%\}}" "$name" "$(hexadecimal | cut -c 1-20)" > secrets/.airflow_passwords
    chmod 444 secrets/.airflow_passwords
    mv -f secrets/.airflow_passwords secrets/airflow_passwords
    echo "made a password for $name"
  fi
done
echo "the passwords of Airflow's users are in secrets/airflow_passwords"
