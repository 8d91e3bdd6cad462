import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defaultsModule } from './defaults.js';

const FOLDER = 'src/core/methodology/definition/defaults';
const MODULE = 'src/core/methodology/definition/defaults.generated.ts';

const paths = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter((name) =>
  name.endsWith('.yml'),
);
const text = defaultsModule(
  new Map(paths.map((path) => [path.replaceAll('\\', '/'), readFileSync(join(FOLDER, path), 'utf8')])),
);
if (!process.argv.includes('--check')) {
  writeFileSync(MODULE, text);
} else if (readFileSync(MODULE, 'utf8') !== text) {
  process.stderr.write(`${MODULE} differs from ${FOLDER}. Run: npm run generate\n`);
  process.exitCode = 1;
}
