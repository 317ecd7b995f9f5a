#!/bin/bash -eu
# One program for each target, with its sound inputs as corpus and its words as dictionary.
pip3 install . tabulate lz4 zstandard pyyaml
for target in $(python3 tests/fuzz/oss_fuzz/fuzz_target.py --list); do
  program=tests/fuzz/oss_fuzz/fuzz_${target//-/_}.py
  sed "s/^TARGET = .*/TARGET = \"$target\"/" tests/fuzz/oss_fuzz/fuzz_target.py > "$program"
  compile_python_fuzzer "$program" --add-data sample_artifacts:sample_artifacts --add-data tests/data:tests/data
  python3 tests/fuzz/oss_fuzz/fuzz_target.py --seeds "$target" "$WORK/$target"
  (cd "$WORK/$target" && zip -q -r "$OUT/fuzz_${target//-/_}_seed_corpus.zip" .)
done
