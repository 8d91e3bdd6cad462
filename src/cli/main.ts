#!/usr/bin/env node
import { exitDespiteUnreadStderr, processIo, sanitizedIo } from './io.js';

const argv = process.argv.slice(2);
const raw = processIo();
// Lazy imports: a hook runs after every tool call of an agent, and must not load the whole program.
const isHookDone =
  argv[0] === 'hook' && (await (await import('./hook/fast-hook.js')).runFastHook(argv, sanitizedIo(raw)));
if (!isHookDone) process.exitCode = await (await import('./program.js')).run(argv, raw);
exitDespiteUnreadStderr();
