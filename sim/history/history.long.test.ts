import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { describeHistory } from './describe-history.js';

const folder = await mkdtemp(join(tmpdir(), 'history-'));
const stop = () => rm(folder, { recursive: true });
afterAll(stop);
for (const proxies of [false, true]) {
  describeHistory('the file store', { url: `file:${folder}`, stop }, { proxies });
}
