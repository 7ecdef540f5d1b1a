#!/bin/sh
# Restart the replicas one after the other: the next one only when the last one takes visitors.
set -e
cd "$(dirname "$0")"
for replica in app-a app-b; do
  docker compose up --detach --build --no-deps --force-recreate "$replica"
  until [ "$(docker compose ps --format '{{.Health}}' "$replica")" = healthy ]; do sleep 1; done
  echo "$replica takes visitors again"
done
