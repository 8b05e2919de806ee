set -eE -o pipefail
trap 'echo "failed: $BASH_COMMAND" >&2' ERR
# Whatever was started ends with the shell.
trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT

# A server goes to the background on a free port; the next command comes when it is ready.
server() {
  local out ports=(--listen 127.0.0.1:0)
  out=$(mktemp -p .)
  [ "$1" = up ] && ports+=(--controller-listen 127.0.0.1:0 --dashboard-listen 127.0.0.1:0)
  [[ " $* " = *" --mesh "* ]] && ports+=(--xds-listen 127.0.0.1:0 --xds-admin-listen 127.0.0.1:0)
  "$EVENKEEL" "$@" "${ports[@]}" >"$out" 2>&1 &
  local server=$! ready='^kubeconfig: '
  # `up` explains a Service of its sample once the Pods are ready.
  [ "$1" = up ] && ready='^WHAT TO DO'
  for _ in $(seq 600); do
    grep -q "$ready" "$out" && break
    kill -0 "$server" 2>/dev/null || { cat "$out" >&2; return 1; }
    sleep 0.1
  done
  cat "$out"
  export KUBECONFIG
  KUBECONFIG=$(sed -n 's/^kubeconfig: //p' "$out" | head -n 1)
}

evenkeel() {
  echo "+ evenkeel $*" >&2
  case "$1" in
    up | apiserver) server "$@" ;;
    *) "$EVENKEEL" "$@" ;;
  esac
}

# Tests that need it run as root.
sudo() { "$@"; }

cargo() {
  echo "+ cargo $*" >&2
  case "$*" in
    "xtask "*) grep -q "\"$2\"\|^    ${2^}" crates/xtask/src/main.rs || { echo "no such task: $2" >&2; return 1; } ;;
    "install --path "*) test -f "$3/Cargo.toml" ;;
    "run "*"-p evenkeel "*) while [ "$1" != "--" ]; do shift; done; shift; evenkeel "$@" ;;
    "run -p tower-fairness --example "*) test -f "crates/tower-fairness/examples/$5.rs" ;;
    *) echo "not known here: cargo $*" >&2; return 1 ;;
  esac
}

kubectl() {
  case "$*" in
    *--watch*) timeout 2 kubectl "$@" || [ $? = 124 ] ;;
    *) command kubectl "$@" ;;
  esac
}
