#!/usr/bin/env bash
# From a failing test to converged code: a scripted agent, real tests in a sandbox, and a person who approves.
# Usage: examples/iterate/run.sh FOLDER (GEN: how to run gen, default `gen`)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?Pass an empty folder for the project}
# `command`, because this function has the name of the program. `eval`, because a path in GEN may have quotes and spaces.
gen() { eval "${GEN:-command gen} \"\$@\""; }

mkdir -p "$folder"
cp "$here"/project/* "$folder"
cd "$folder"
git init --quiet

gen init --name sums --intent 'Add numbers' --language javascript --test-runner 'node --test'
sed "s#sh, .*agent.sh#sh, $PWD/agent.sh#" "$here/design_code.yml" > .ai-workspace/graph/edges/design_code.yml
cat > .ai-workspace/features/active/REQ-F-SUM-001.yml <<'YAML'
feature: REQ-F-SUM-001
title: The sum of two numbers
profile: standard
YAML

# Exit code 3: a person has to decide.
gen iterate 'REQ-F-SUM-001#design_code' --role full_stack --yes || [ $? = 3 ]
gen review --feature REQ-F-SUM-001 --approve --comment 'reads well'
gen iterate 'REQ-F-SUM-001#design_code' --role full_stack
gen runs
cat sum.js
