#!/bin/sh
# A scripted agent in place of `claude -p`. Its first candidate is wrong; it is right once the prompt says what failed.
case "$(cat)" in
  *"Findings of the last iteration"*) echo 'exports.sum = (a, b) => a + b;' > sum.js ;;
  *) echo 'exports.sum = (a, b) => a * b;' > sum.js ;;
esac
echo 'I have changed sum.js.'
