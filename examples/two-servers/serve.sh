#!/bin/sh
# Serve one store by two processes behind nginx, until a signal comes:
#
#   examples/two-servers/serve.sh postgresql://HOST/DATABASE
#
# PORT_NGINX, PORT_ONE and PORT_TWO are the ports: 8000, 8001 and 8002 unless they are given.
set -eu
store=${1:?"give the address of a store: postgresql://HOST/DATABASE"}
: "${PORT_NGINX:=8000}" "${PORT_ONE:=8001}" "${PORT_TWO:=8002}"
folder=$(mktemp -d)
PATH=$PATH:/usr/sbin

handful serve --store "$store" --port "$PORT_ONE" &
one=$!
handful serve --store "$store" --port "$PORT_TWO" &
two=$!
sed -e "s|FOLDER|$folder|g" -e "s|PORT_NGINX|$PORT_NGINX|" -e "s|PORT_ONE|$PORT_ONE|" \
    -e "s|PORT_TWO|$PORT_TWO|" "$(dirname "$0")/nginx.conf" > "$folder/nginx.conf"
nginx -e "$folder/error.log" -p "$folder" -c "$folder/nginx.conf" &
nginx=$!

stop() {
    trap - INT TERM EXIT
    kill "$nginx" "$one" "$two" 2>/dev/null || true
    wait || true
    rm -rf "$folder"
}
trap stop EXIT
trap 'stop; exit 0' INT TERM
echo "two servers behind http://127.0.0.1:$PORT_NGINX (processes $one and $two)"
wait "$nginx"
