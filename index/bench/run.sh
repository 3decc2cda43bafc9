#!/bin/sh
# Measures the engines beside their peers. Arguments go to the program: see
# "go run . -h". The C++ peers need g++ and Debian's libhnswlib-dev and
# libfaiss-dev; without them only the Go peers run, and it says so.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
peers=
if [ -d /usr/include/hnswlib ] && [ -d /usr/include/faiss ] && command -v g++ >/dev/null; then
	g++ -O3 -march=native -fopenmp -o "$work/peers" peers/peers.cc -lfaiss -llapack -lblas
	peers=$work/peers
else
	echo "bench-index: no hnswlib or FAISS here (apt-get install g++ libhnswlib-dev libfaiss-dev)" >&2
fi
go build -o "$work/bench" .
"$work/bench" -peers "$peers" "$@"
