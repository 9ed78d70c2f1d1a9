"""Jars are fetched once and held to their checksums. Java is a script that does what Ivy's -retrieve does."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from spark_jobs.session import jars
from spark_jobs.session.install import Installation, NotInstalled
from spark_jobs.session.jars import Jar, JarMismatch, JarUnavailable, fetch_jars, ivy_jar, jar_paths
from spark_jobs.session.java import Java

CONTENT = b"a jar"
JAR = Jar("io.delta", "delta-storage", "4.4.0", hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture(autouse=True)
def one_small_jar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "DELTA_JARS", (JAR,))


def java_that(tmp_path: Path, script: str) -> Java:
    """The script sees the target folder as $folder, and every call, with what it orders, is one line in
    `calls`.
    """
    command = tmp_path / "java" / "bin" / "java"
    command.parent.mkdir(parents=True)
    last = "${!#}"
    text = (
        f'#!/usr/bin/env bash\nfolder=$(dirname "{last}")\necho "$*" "$(cat "$folder/ivy.xml")" >>'
        f' "{tmp_path}/calls"\n{script}\n'
    )
    command.write_text(text, encoding="utf-8")
    command.chmod(0o755)
    return Java(tmp_path / "java", 17, "JAVA_HOME")


@pytest.mark.system
def test_a_missing_jar_is_fetched_once(tmp_path: Path) -> None:
    java = java_that(tmp_path, f'printf "{CONTENT.decode()}" > "$folder/{JAR.name}"')
    folder, said = tmp_path / "the jars", list[str]()

    first = fetch_jars(folder, java, said.append)
    second = fetch_jars(folder, java, said.append)

    assert first == second == jar_paths(folder)
    assert [path.name for path in folder.iterdir()] == [JAR.name]
    assert said == [f"fetching {JAR.name}"]
    (call,) = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert 'org="io.delta" name="delta-storage" rev="4.4.0" transitive="false"' in call


@pytest.mark.system
def test_the_jars_of_a_component_stand_in_a_folder_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Jar("org.postgresql", "postgresql", "42.7.10", JAR.sha256)
    monkeypatch.setattr(jars, "COMPONENTS", {"postgres": (driver,)})
    java = java_that(
        tmp_path, f'printf "{CONTENT.decode()}" | tee "$folder/{JAR.name}" > "$folder/{driver.name}"'
    )

    paths = fetch_jars(tmp_path / "jars", java, print, ["postgres"])

    assert [str(path.relative_to(tmp_path)) for path in paths] == [
        f"jars/{JAR.name}",
        f"jars/postgres/{driver.name}",
    ]
    assert all(path.read_bytes() == CONTENT for path in paths)


@pytest.mark.system
def test_two_projects_fetch_one_after_the_other_because_ivys_cache_is_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    busy = tmp_path / "busy"
    script = f'mkdir "{busy}" || exit 1; sleep 0.2; rmdir "{busy}"; printf "{CONTENT.decode()}" > "$folder/{JAR.name}"'
    java = java_that(tmp_path, script)

    with ThreadPoolExecutor() as pool:
        paths = list(pool.map(lambda name: fetch_jars(tmp_path / name, java, print), ("one", "other")))

    assert [path.read_bytes() for (path,) in paths] == [CONTENT, CONTENT]


def test_a_component_that_is_not_there_is_named_with_the_command_that_fetches_it(tmp_path: Path) -> None:
    with pytest.raises(NotInstalled, match="weir setup --with kafka --with postgres"):
        Installation(tmp_path).component_jars({"postgres", "kafka"})


@pytest.mark.system
def test_a_fetched_jar_with_another_checksum_is_refused_and_not_kept(tmp_path: Path) -> None:
    java = java_that(tmp_path, f'printf "another jar" > "$folder/{JAR.name}"')

    with pytest.raises(JarMismatch) as raised:
        fetch_jars(tmp_path / "jars", java, print)

    assert raised.value.expected == JAR.sha256
    assert raised.value.actual == hashlib.sha256(b"another jar").hexdigest()
    assert list((tmp_path / "jars").iterdir()) == []


def test_a_jar_that_changed_on_disk_is_deleted_and_named(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / JAR.name).write_bytes(CONTENT[:-1])

    with pytest.raises(JarMismatch, match=r"delta-storage-4\.4\.0\.jar"):
        fetch_jars(tmp_path / "jars", java_that(tmp_path, "exit 1"), print)

    assert list((tmp_path / "jars").iterdir()) == []


@pytest.mark.system
def test_what_ivy_said_and_the_way_without_it_are_in_the_error(tmp_path: Path) -> None:
    java = java_that(tmp_path, "echo 'UNRESOLVED DEPENDENCY'; exit 1")

    with pytest.raises(JarUnavailable) as raised:
        fetch_jars(tmp_path / "jars", java, print)

    assert "UNRESOLVED DEPENDENCY" in str(raised.value)
    assert JAR.sha256 in str(raised.value)


def test_ivy_comes_with_pyspark() -> None:
    assert ivy_jar().is_file()
