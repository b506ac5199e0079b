#!/usr/bin/env bash
# What is measured on one GPU, in parts that fit into some minutes, the most informative first.
#
#     benchmarks/one_gpu.sh OUT tests steps                    # about 7 minutes
#     benchmarks/one_gpu.sh OUT xferbench claims xtreme models # about 6 minutes
#
# A part that takes longer than its share is stopped as by Ctrl-C and keeps its state in the folder OUT; the same command
# goes on with it. Set before: TEXT, a folder with one file of documents, a line each, such as da.txt.gz; XTREME, the tasks'
# data; EGG, a checkout of https://github.com/facebookresearch/EGG beside which ecsuite is timed; MODEL, a GGUF file;
# DEVICE, cuda unless set; PYTHON, python unless set.
set -uo pipefail
out=$(realpath "$1") && shift && mkdir -p "$out"
cd "$(dirname "$0")/.."
python=${PYTHON:-python} device=${DEVICE:-cuda}

part() { # part NAME SECONDS COMMAND...: the end of its output, all of it in OUT/NAME.log
  local began=$SECONDS
  echo "== $1"
  timeout --signal INT --kill-after 15 "$2" "${@:3}" >"$out/$1.log" 2>&1
  local code=$?
  tail -n 25 "$out/$1.log"
  echo "== $1: exit code $code after $((SECONDS - began)) of $2 s"
}
ec() { part "$1" "$2" "$python" -m ecsuite "${@:3}" --device "$device" --cache "$out/cache"; }

for name in "$@"; do
  case $name in
    tests) part tests 150 "$python" -m pytest -q -n 8 --device "$device" -m 'device and not slow' \
      tests/test_on_devices.py tests/runtime/test_graphs.py tests/eval/models/test_graphs.py tests/eval/icy/test_updates.py ;;
    steps) PYTHONPATH=${EGG:-}${PYTHONPATH:+:$PYTHONPATH} part steps 270 "$python" benchmarks/gpu.py disc_small disc_large \
      recon_large shape_gs disc_tiny icy --seconds 2 --minutes 4 --device "$device" --results "$out" ;;
    xferbench)
      [[ -e $out/game/corpus.jsonl ]] ||
        part game 30 "$python" -m ecsuite train-game disc_small --epochs 1 --device "$device" --out "$out/game"
      ec xferbench 200 score "$out/game" --metrics "xferbench,preset=full,targets=${TEXT:?a folder with one text}" \
        --out "$out/xferbench.json" ;;
    claims) for claim in ren2020_generations mu2021_systematic mu2021_generalisation perkins2021_hidden_size_lstm; do
      ec "$claim" 45 reproduce "$claim" --out "$out/$claim.json"
    done ;;
    xtreme) ec xtreme 60 xtreme "$out/game" --preset mini --data "${XTREME:?the tasks of XTREME}" --tasks udpos --out "$out/xtreme.json" ;;
    models) part models 60 "$python" benchmarks/language_models.py batches --device "$device" --model "${MODEL:?a GGUF file}" ;;
    *) echo "$name: expected tests, steps, xferbench, claims, xtreme or models" >&2; exit 2 ;;
  esac
done
