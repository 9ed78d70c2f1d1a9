"""Whether the content of a file is text at all. What is none is refused as a whole, with what it seems to be:
line by line, rubbish of 20 MB would be some 80,000 quarantined rows in every table.
"""

import codecs

from spark_jobs.bronze.arrived import UnreadableFile

START_BYTES = 64 * 1024
"""As much of the beginning of a file is looked at."""
FEW, SHARE = 4, 20
"""Bytes that no text has may be few, or less than one in so many: such a line is set aside alone."""
IN_TEXT = b"\t\n\r\f\v\b\x1b"
NO_TEXT = bytes(range(32)) + b"\x7f"
READABLE = 0.95

UTF_8 = "land it as UTF-8"
PACKED = "packed files are known by their names, which end in .gz, .bz2 or .zst"
MARKS = {
    codecs.BOM_UTF32_LE: ("UTF-32 text", UTF_8),
    codecs.BOM_UTF32_BE: ("UTF-32 text", UTF_8),
    codecs.BOM_UTF16_LE: ("UTF-16 text", UTF_8),
    codecs.BOM_UTF16_BE: ("UTF-16 text", UTF_8),
}
"""In this order: the mark of UTF-32 begins with that of UTF-16."""
BEGINNINGS = {
    b"\x1f\x8b": ("a gzip file", PACKED),
    b"BZh": ("a bzip2 file", PACKED),
    b"\x28\xb5\x2f\xfd": ("a Zstandard file", PACKED),
    b"\xfd7zXZ\0": ("an xz file", "land it unpacked, or packed as .gz, .bz2 or .zst"),
    b"\x04\x22\x4d\x18": ("an LZ4 file", "land it unpacked, or packed as .gz, .bz2 or .zst"),
    b"7z\xbc\xaf\x27\x1c": ("a 7z archive", "land the files that it holds, as text"),
    b"PK\x03\x04": ("a zip archive or an Office document", "land the files that it holds, as text"),
    b"\xd0\xcf\x11\xe0": ("an old Office document", "land it as text"),
    b"PAR1": ("a Parquet file", "give it a source with format: parquet"),
    b"ORC": ("an ORC file", "give it a source with format: orc"),
    b"Obj\x01": ("an Avro file", "give it a source with format: avro"),
    b"%PDF-": ("a PDF document", "land it as text"),
    b"SQLite format 3\0": ("an SQLite database", "land its tables as text"),
    b"\x89PNG": ("a picture", "remove it"),
    b"\xff\xd8\xff": ("a picture", "remove it"),
}
TAR, TAR_AT = b"ustar", 257
"""Behind its first 512 bytes an archive is text where its files are, and may be nearly all of it."""
ENCODINGS = {"utf-32-le": "UTF-32", "utf-32-be": "UTF-32", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}


def check_text(start: bytes, delimiter: str = "") -> None:
    """UnreadableFile where the beginning of a file is no UTF-8 text, and not just for a few bytes. A
    delimiter may be any character.
    """
    if (seems := _recognise(start, delimiter.encode())) is not None:
        what, hint = seems
        raise UnreadableFile(f"not UTF-8 text: it seems to be {what}; {hint}")


def check_beginning(start: bytes) -> None:
    """The same for XML, which says its encoding itself: what other files begin with is none of it."""
    for beginning, (what, hint) in BEGINNINGS.items():
        if start.startswith(beginning):
            raise UnreadableFile(f"not XML: it seems to be {what}; {hint}")


def _recognise(start: bytes, delimiter: bytes) -> tuple[str, str] | None:
    for mark, seems in MARKS.items():
        if start.startswith(mark):
            return seems
    zeros, is_text = start.count(0), _is_utf8(start)
    if is_text and not zeros:
        return None
    for beginning, seems in BEGINNINGS.items():
        if start.startswith(beginning):
            return seems
    if zeros and start.startswith(TAR, TAR_AT):
        return "a tar archive", "land the files that it holds"
    odd = (
        zeros
        if is_text
        else len(start) - len(start.translate(None, bytes(set(NO_TEXT) - set(IN_TEXT + delimiter))))
    )
    if odd < FEW or odd * SHARE <= len(start):
        return None
    if not start.strip(b"\0"):
        return "nothing but zero bytes", "land it again: it was not written to its end, or lost its content"
    encoding = next((name for codec, name in ENCODINGS.items() if zeros and _reads_as(start, codec)), None)
    return (
        (f"{encoding} text without a byte order mark", UTF_8)
        if encoding
        else ("binary data", "look at what wrote it")
    )


def _is_utf8(start: bytes) -> bool:
    """The last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _reads_as(start: bytes, encoding: str) -> bool:
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError:
        return False
    return (
        sum(character.isprintable() or character.isspace() for character in text) >= READABLE * len(text) > 0
    )
