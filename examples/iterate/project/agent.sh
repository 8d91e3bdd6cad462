#!/bin/sh
# A scripted agent in place of `claude -p`: wrong at first, right once the prompt tells what failed.
case "$(cat)" in
  *"Findings of the last iteration"*) echo 'exports.sum = (a, b) => a + b;' > sum.js ;;
  *) echo 'exports.sum = (a, b) => a * b;' > sum.js ;;
esac
echo 'I have changed sum.js.'
