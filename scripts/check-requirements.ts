import { readFileSync } from 'node:fs';
import { checkRequirements, summaryOf } from './requirements.js';
import { reportFaults, typescriptSources } from './source-files.js';

const MANIFEST = 'docs/requirements.jsonl';

const check = checkRequirements(
  { file: MANIFEST, text: readFileSync(MANIFEST, 'utf8') },
  typescriptSources(),
);
process.stdout.write(`${summaryOf(check)}\n`);
reportFaults(check.faults);
