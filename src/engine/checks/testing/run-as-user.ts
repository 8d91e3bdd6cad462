import { sandboxExecutor } from '../command-executor.js';
import { checkExecutor } from '../execute-check.js';
import { findSandbox } from '../sandbox.js';
import { createWorkCopy, isCopyRefusal } from '../work-copy.js';
import { shellCheck, TEST_LIMITS } from './check-values.js';

/** Runs the shell line of the first argument as a check of the folder in the second, as the user of this process. */
const [line = '', folder = ''] = process.argv.slice(2);
const sandbox = await findSandbox(process.env.PATH);
const copy = await createWorkCopy(folder, []);
if (sandbox.kind === 'none') console.log(JSON.stringify(sandbox));
else if (!isCopyRefusal(copy)) {
  const { signal } = new AbortController();
  const runCheck = checkExecutor(sandboxExecutor(sandbox));
  const { outcome } = await runCheck({ check: shellCheck(line), copy, limits: TEST_LIMITS, signal });
  await copy.remove();
  console.log(JSON.stringify(outcome));
}
