#!/usr/bin/env node
import { processIo } from './io.js';
import { run } from './program.js';

// Whoever reads our output may have read enough: that is no fault of ours.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

process.exitCode = await run(process.argv.slice(2), processIo());
