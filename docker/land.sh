#!/bin/sh
# Lands files in the volume of docker-compose.yml: sh docker/land.sh retail/orders orders-1.json orders-2.json
# A copy grows while it is written, and a run that begins meanwhile would take what is there. So each file arrives under a name that runs
# pass over, and is renamed when it is whole. It is written by the container's own user, who must be able to read it.
set -eu
folder=${1:?the folder below landing, then the files}
shift
: "${1:?the files to land}"
docker compose exec -T airflow-scheduler mkdir -p "/data/landing/$folder"
for file in "$@"; do
  name=$(basename "$file")
  docker compose exec -T airflow-scheduler sh -c 'cat > "$1"' land "/data/landing/$folder/.$name.part" < "$file"
  docker compose exec -T airflow-scheduler mv "/data/landing/$folder/.$name.part" "/data/landing/$folder/$name"
done
