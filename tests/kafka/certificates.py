"""Certificates for a test's broker and its clients: one authority, and for each a key with its certificate,
all in PEM files.
"""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Signs with a key of its own; whoever trusts `certificate` trusts what it has signed."""

    def __init__(self, folder: Path) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.name = _named("weir test authority")
        signed = _certificate(self.name, self.name, self._key.public_key(), is_authority=True).sign(
            self._key, hashes.SHA256()
        )
        self.certificate = folder / "authority.pem"
        self.certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, folder: Path) -> Path:
        """A file with a key and the certificate for it, good for 127.0.0.1."""
        key, file = ec.generate_private_key(ec.SECP256R1()), folder / f"{name}.pem"
        signed = _certificate(_named(name), self.name, key.public_key(), is_authority=False).sign(
            self._key, hashes.SHA256()
        )
        plain = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file.write_bytes(plain + signed.public_bytes(serialization.Encoding.PEM))
        file.chmod(0o600)
        return file


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, *, is_authority: bool
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    certificate = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    certificate = certificate.serial_number(x509.random_serial_number())
    certificate = certificate.not_valid_before(now - timedelta(hours=1)).not_valid_after(
        now + timedelta(days=1)
    )
    certificate = certificate.add_extension(
        x509.BasicConstraints(ca=is_authority, path_length=None), critical=True
    )
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    return certificate.add_extension(address, critical=False)
