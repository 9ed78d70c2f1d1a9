"""What executors elsewhere are told."""

from spark_jobs.session.settings import storage_settings

KEYS = {"AWS_ACCESS_KEY_ID": "an-id", "AWS_SECRET_ACCESS_KEY": "a-key"}


def test_executors_are_told_where_the_store_is_and_no_key() -> None:
    settings = storage_settings(["s3a://bucket/lake"], {**KEYS, "AWS_REGION": "eu-central-1", "AWS_ENDPOINT_URL": "https://store"})

    told = {name: value for name, value in settings.items() if name.startswith("spark.executorEnv.")}
    assert told == {"spark.executorEnv.AWS_REGION": "eu-central-1", "spark.executorEnv.AWS_ENDPOINT_URL": "https://store"}
    assert not set(settings.values()) & set(KEYS.values())
