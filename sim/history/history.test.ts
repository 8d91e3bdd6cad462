import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeHistory } from './describe-history.js';

describeHistory('the file store', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'history-'));
  return { url: `file:${folder}`, stop: () => rm(folder, { recursive: true }) };
});
