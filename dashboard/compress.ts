import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

const TEXT_FILES = ['.css', '.html', '.js', '.svg', '.txt'];

/** Writes `NAME.gz` beside each text file of the build, so that the server compresses nothing on request. */
export const compress = (): Plugin => ({
  name: 'compress',
  writeBundle({ dir = '' }) {
    for (const name of readdirSync(dir).filter((file) => TEXT_FILES.includes(extname(file))))
      writeFileSync(join(dir, `${name}.gz`), gzipSync(readFileSync(join(dir, name)), { level: 9 }));
  },
});
