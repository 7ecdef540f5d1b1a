#!/bin/sh
# After a change: workers first (meanwhile the replicas compute), then the replicas one after the
# other, the next one only when the proxy has the last one back.
set -e
cd "$(dirname "$0")"
docker compose build app-a
docker compose up --detach --no-deps --force-recreate scheduler worker
for replica in app-a app-b; do
  docker compose up --detach --no-deps --force-recreate "$replica"
  tries=0
  until [ "$(docker compose ps --format '{{.Health}}' "$replica")" = healthy ]; do
    tries=$((tries + 1))
    if [ "$tries" -gt 120 ]; then
      echo "$replica takes no visitors after two minutes: the other replica was left as it was" >&2
      exit 1
    fi
    sleep 1
  done
  sleep 10 # the proxy looks twice before it believes
  echo "$replica takes visitors again"
done
