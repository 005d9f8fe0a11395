# Checks what is there of the greeter.
set -eu
[ -f greet.sh ] || exit 0
[ "$(sh greet.sh Ada)" = "Hello, Ada!" ] || { echo "greet.sh does not greet Ada"; exit 1; }
