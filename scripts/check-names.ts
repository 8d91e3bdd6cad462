import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nameFaults } from './names.js';

const FOLDERS = ['src', 'sim', 'bench', 'test', 'scripts', 'examples'];

const files = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => file.endsWith('.ts') && !file.includes('node_modules')),
).sort();
const faults = nameFaults(files.map((file) => ({ file, text: readFileSync(file, 'utf8') })));

if (faults.length === 0)
  process.stdout.write(`${files.length} files have plain, unique, well-cased names.\n`);
for (const { file, line, message } of faults) process.stderr.write(`${file}:${line}: ${message}.\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
