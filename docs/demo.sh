#!/usr/bin/env bash
# The whole pipeline on the embedded domain: `make demo` runs this with `collect` on the PATH.
# Run it again and each finished step says so; nothing is asked, paid or drawn twice.
set -euo pipefail
directory=${1:-demo-project}

step() {
  printf '\n\033[1m$ %s\033[0m\n' "$*"
  "$@"
}

[ -f "$directory/collect.toml" ] || step collect init "$directory" --protocol birds-to-words
cd "$directory"

# Images: the embedded domain, embeddings, pivots and branches.
step collect catalog demo --species 2000 --seed 0
step collect embed
step collect sample --pivots 405 --k 12

# A crowd: our own server on loopback, and simulated annotators, five of them planted bad ones.
rm -f crowd/endpoint.json
collect serve --port 0 2>crowd-server.log &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true' EXIT
for _ in $(seq 100); do [ -f crowd/endpoint.json ] && break; sleep 0.1; done
annotators=good=12,hasty=1,random=2,copy-paste=1,species-namer=1

step collect launch clarity --limit 600 --yes --max-cost 200.00
step collect simulate clarity --workers "$annotators"
step collect pull clarity
step collect launch writing --yes --max-cost 2500.00
step collect simulate writing --workers "$annotators"
step collect pull writing

# Quality control, payment, a release, a model, and one page that shows it all.
step collect audit
step collect approve clarity --yes --max-cost 200.00
step collect approve writing --yes --max-cost 2500.00
step collect release build 1.0.0
step collect release verify 1.0.0
step collect train --release 1.0.0
step collect report
step collect status
printf '\nOpen %s/report/index.html\n' "$directory"
