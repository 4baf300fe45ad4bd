"""ID tokens that MX must not accept."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode

import pytest
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256
from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey, RSAKey

from tests.mx.sign_on_kit import (
    NOT_VALID,
    Browser,
    alert,
    both,
    mx,
    provider,
    reasons,
)
from tests.servers.oidc_provider import CLIENT_ID, CLIENT_SECRET, as_json

__all__ = ["both", "mx", "provider"]


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"nonce": "another"}, "nonce"),
        ({"nonce": None}, "nonce"),
        ({"aud": "another"}, "aud"),
        ({"aud": [CLIENT_ID, "another"]}, "azp"),
        ({"aud": [CLIENT_ID, "another"], "azp": "another"}, "azp"),
        ({"azp": "another"}, "azp"),
        ({"aud": "another", "azp": CLIENT_ID}, "aud"),
        ({"aud": None}, "aud"),
        ({"iss": "https://evil.example"}, "iss"),
        ({"iss": None}, "iss"),
        ({"exp": 1_000_000_000}, "expired"),
        ({"exp": None}, "exp"),
        ({"exp": "never"}, "exp"),
        ({"iat": 99_999_999_999}, "issued in the future"),
        ({"iat": None}, "iat"),
        ({"nbf": 99_999_999_999}, "not yet valid"),
        ({"sub": None}, "sub"),
        ({"sub": ""}, "sub"),
        ({"sub": 7}, "sub"),
        ({"at_hash": "of another token"}, "at_hash"),
        ({"preferred_username": None}, "preferred_username"),
        ({"preferred_username": ""}, "preferred_username"),
        ({"preferred_username": ["anna"]}, "preferred_username"),
        ({"preferred_username": "a\nb"}, "preferred_username"),
        ({"preferred_username": "a\u202eb"}, "preferred_username"),
        ({"preferred_username": "a" * 101}, "preferred_username"),
    ],
)
def test_an_id_token_for_another_purpose_is_refused(mx, provider, caplog, claims, reason):
    caplog.set_level("INFO")
    provider.claims = claims
    browser = Browser(mx)
    answer = browser.log_in()
    assert answer.status_code == 401
    assert "see the MX log" in alert(answer)
    assert browser.name() is None
    (told,) = reasons(caplog)
    assert reason in told


def test_several_audiences_are_accepted_if_mx_is_the_authorized_party(mx, provider):
    provider.claims = {"aud": [CLIENT_ID, "another"], "azp": CLIENT_ID}
    assert Browser(mx).log_in().status_code == 200


def of_another_key(provider, claims):
    key = RSAKey.generate_key(2048, {"kid": provider.key.kid})
    return jwt.encode({"alg": "RS256", "kid": key.kid}, claims, key)


def hs256(provider, claims, secret):
    signed = f"{part({'alg': 'HS256', 'kid': provider.key.kid})}.{part(claims)}"
    found = hmac.digest(secret, signed.encode(), "sha256")
    return f"{signed}.{urlsafe_b64encode(found).decode().rstrip('=')}"


def with_its_own_key(_, claims):
    key = RSAKey.generate_key(2048)
    return jwt.encode({"alg": "RS256", "jwk": key.as_dict(private=False)}, claims, key)


def with_unknown_critical_header(provider, claims):
    header = {"alg": "RS256", "kid": provider.key.kid, "crit": ["new"], "new": 1}
    signed = f"{part(header)}.{part(claims)}"
    return f"{signed}.{signature(provider.key, signed)}"


def signature(key, text):
    found = key.get_op_key("sign").sign(text.encode(), PKCS1v15(), SHA256())
    return urlsafe_b64encode(found).decode().rstrip("=")


FORGED = {
    "alg none": lambda _, claims: f"{part({'alg': 'none'})}.{part(claims)}.",
    "no signature": lambda provider, claims: provider.signed(claims).rpartition(".")[0] + ".",
    "HS256 with the public key": lambda provider, claims: hs256(
        provider, claims, provider.key.as_pem(private=False)
    ),
    "HS256 with the client's secret": lambda provider, claims: hs256(
        provider, claims, CLIENT_SECRET.encode()
    ),
    "another key, same kid": of_another_key,
    "unknown kid": lambda provider, claims: jwt.encode(
        {"alg": "RS256", "kid": "unknown"}, claims, provider.key
    ),
    "a key in the header": with_its_own_key,
    "a key of another kind": lambda _, claims: jwt.encode(
        {"alg": "ES256"}, claims, ECKey.generate_key("P-256")
    ),
    "unknown critical header": with_unknown_critical_header,
    "no token": lambda *_: "synergy",
}


def part(found):
    return urlsafe_b64encode(json.dumps(found).encode()).decode().rstrip("=")


@pytest.mark.parametrize("kind", FORGED)
def test_an_id_token_without_a_signature_of_the_provider_is_refused(mx, provider, caplog, kind):
    caplog.set_level("INFO")
    provider.sign = lambda claims: FORGED[kind](provider, claims)
    browser = Browser(mx)
    answer = browser.log_in()
    assert (answer.status_code, alert(answer)) == (401, NOT_VALID)
    assert browser.name() is None
    assert "ID token" in reasons(caplog)[0]


def test_a_shared_secret_among_the_keys_signs_nothing(mx, provider):
    key = OctKey.generate_key(256, {"kid": "shared"})
    keys = [provider.key.as_dict(private=False), key.as_dict()]
    provider.instead["/jwks"] = lambda: as_json(200, {"keys": keys})
    assert Browser(mx).log_in().status_code == 200
    provider.sign = lambda claims: jwt.encode({"alg": "HS256", "kid": "shared"}, claims, key)
    assert Browser(mx).log_in().status_code == 401


def test_a_withdrawn_key_is_refused(mx, provider):
    provider.published = KeySet([RSAKey.generate_key(2048)])
    assert Browser(mx).log_in().status_code == 401


@pytest.mark.parametrize(
    "keys", [{}, {"keys": []}, {"keys": "x"}, {"keys": [{"kty": "RSA", "n": "!", "e": 1}]}]
)
def test_malformed_keys_are_refused(mx, provider, keys):
    provider.instead["/jwks"] = lambda: as_json(200, keys)
    assert alert(Browser(mx).log_in()) == NOT_VALID
