"""What the real servers of these tests are not: each gap with its reason and what can stand in for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gap:
    """Something that production has and this machine cannot have."""

    what: str
    reason: str
    instead: str


GAPS = (
    Gap(
        "k-NN engines Faiss and NMSLIB",
        "the plugin's zip in Maven Central has no native libraries; they come with the full distribution only",
        "engine `lucene` on a real node; a mapping for Faiss can only be checked as a document",
    ),
    Gap(
        "OpenSearch's own analysis-kuromoji plugin",
        "it is published beside the distribution and in no Maven repository",
        "Lucene's analysis of the same version under the same names and settings (kuromoji/Kuromoji.java)",
    ),
    Gap(
        "OpenSearch Serverless",
        "a managed service: no GET /, no refresh, no custom _id, other limits, other error texts",
        "the same queries on a real node; a small HTTP endpoint that refuses what Serverless refuses",
    ),
    Gap(
        "SigV4 towards OpenSearch",
        "a node without the cloud's front does not look at signatures",
        "comparing the signed request with one that botocore's signer makes",
    ),
    Gap(
        "an OpenSearch before 3.6 or after it",
        "3.6.0 is the newest whose node, k-NN and hybrid plugins Maven Central all has; older ones were not wired up",
        "a second set of lines in artefacts.lock and another VERSION; node 2.19.1 and k-NN 2.19.1.0 are listed there",
    ),
    Gap(
        "neural queries, where the cluster makes the embedding",
        "the ml-commons plugin they need is not in Maven Central; vectors come from the application here",
        "knn and hybrid queries with given vectors",
    ),
    Gap(
        "DynamoDB's throttling, capacity, IAM and latency",
        "DynamoDB Local has none of them: it takes any key and is never too busy",
        "an endpoint of the tests' own that answers with those errors",
    ),
    Gap(
        "DynamoDB Local 3.3.1",
        "its pom asks for versions of the AWS SDK that were not to be had when this was written",
        "3.1.0",
    ),
    Gap(
        "ElastiCache's IAM sign-in and its limits per connection",
        "a managed service",
        "requirepass on a real Redis; comparing the token with one that botocore's signer makes",
    ),
)
