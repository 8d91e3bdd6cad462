import { readFileSync, writeFileSync } from 'node:fs';
import { withSections } from './api-reference.js';

/** Writes the generated tables of the documentation. With `--check`, only reports whether they are up to date. */
const FILE = 'docs/http.md';

const currentText = readFileSync(FILE, 'utf8');
const generated = withSections(currentText);
if (!process.argv.includes('--check')) writeFileSync(FILE, generated);
else if (currentText === generated) process.stdout.write(`${FILE} is up to date.\n`);
else {
  process.stderr.write(`${FILE} does not match src/core/contract. Run npm run generate.\n`);
  process.exitCode = 1;
}
