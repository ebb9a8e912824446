"""IAM authentication to ElastiCache, where the password is a signed request that is valid for 15 minutes.

Source: AWS documentation, ElastiCache User Guide, "Authenticating with IAM". A connection lives up to twelve hours after its
token was accepted; each new connection uses a valid token."""

from __future__ import annotations

import logging
import time
from urllib.parse import urlencode

import botocore.session
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import BotoCoreError

logger = logging.getLogger(__name__)

TOKEN_SECONDS = 900
RENEW_SECONDS = 780
"""A token is reused while at least two minutes of `TOKEN_SECONDS` are left."""


class ElastiCacheIam:
    """Makes tokens with which `user` signs in to one cache, from the process's AWS credentials (on ECS, the task role's)."""

    def __init__(self, user: str, cache: str, region: str, *, serverless: bool) -> None:
        self._user = user
        self._cache = cache
        self._region = region
        self._serverless = serverless
        self._session = botocore.session.get_session()
        self._token, self._made_at = "", float("-inf")
        self._made_by: ReadOnlyCredentials | None = None
        self._complained = False

    def get_credentials(self) -> tuple[str, str]:
        """Returns the user and a token. May block to fetch AWS credentials. Raises PermissionError if there are none."""
        signer, now = self._signer(), time.monotonic()
        # Tokens expire with the role's credentials that signed them.
        if signer != self._made_by or now - self._made_at > RENEW_SECONDS:
            self._token, self._made_at, self._made_by = self._sign_request(signer), now, signer
        return self._user, self._token

    def _sign_request(self, signer: ReadOnlyCredentials) -> str:
        query = {"Action": "connect", "User": self._user}
        if self._serverless:
            query["ResourceType"] = "ServerlessCache"
        request = AWSRequest(method="GET", url=f"http://{self._cache}/?{urlencode(query)}")
        SigV4QueryAuth(signer, "elasticache", self._region, expires=TOKEN_SECONDS).add_auth(request)
        return str(request.url).removeprefix("http://")

    def _signer(self) -> ReadOnlyCredentials:
        try:
            credentials = self._session.get_credentials()
            found = credentials.get_frozen_credentials() if credentials is not None else None
        except (BotoCoreError, OSError):  # not logged: the message may contain paths and addresses
            found = None
        if found is None:
            if not self._complained:
                logger.warning("there are no AWS credentials to sign in to ElastiCache with; session memory waits for them")
            self._complained = True
            raise PermissionError("no AWS credentials were found for IAM authentication to ElastiCache")
        self._complained = False
        return found
