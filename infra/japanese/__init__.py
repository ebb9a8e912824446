"""Builds the table of Japanese words and readings that is shipped (tools/store/search/text/japanese.tsv.gz).

`python -m infra.japanese.build <jamdict.db> <madb_serialisations.jsonl.gz> <japanese.tsv.gz>`"""
