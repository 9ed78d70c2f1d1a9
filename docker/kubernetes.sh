#!/bin/sh
# What Spark asks of an image on Kubernetes: `driver` and `executor`, with the rest in arguments and environment. Anything else is run.
set -eu
spark_home=$(/opt/weir/.envs/spark/bin/python -c 'from importlib.util import find_spec; print(find_spec("pyspark").submodule_search_locations[0])')

case "${1:-}" in
  driver)
    shift
    exec "$spark_home/bin/spark-submit" --deploy-mode client \
      --conf "spark.driver.bindAddress=$SPARK_DRIVER_BIND_ADDRESS" \
      --conf "spark.executorEnv.SPARK_DRIVER_POD_IP=$SPARK_DRIVER_BIND_ADDRESS" "$@"
    ;;
  executor)
    set --
    number=0
    # Spark hands the options of the executor's JVM over one by one, as SPARK_JAVA_OPT_0 and so on.
    while option=$(printenv "SPARK_JAVA_OPT_$number"); do
      set -- "$@" "$option"
      number=$((number + 1))
    done
    exec java "$@" "-Xms$SPARK_EXECUTOR_MEMORY" "-Xmx$SPARK_EXECUTOR_MEMORY" \
      -cp "${SPARK_CLASSPATH:+$SPARK_CLASSPATH:}$spark_home/jars/*" \
      org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend \
      --driver-url "$SPARK_DRIVER_URL" --executor-id "$SPARK_EXECUTOR_ID" --cores "$SPARK_EXECUTOR_CORES" \
      --app-id "$SPARK_APPLICATION_ID" --hostname "$SPARK_EXECUTOR_POD_IP" \
      --resourceProfileId "$SPARK_RESOURCE_PROFILE_ID" --podName "$SPARK_EXECUTOR_POD_NAME"
    ;;
  *)
    exec "$@"
    ;;
esac
